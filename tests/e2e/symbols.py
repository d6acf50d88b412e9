"""Function names of known programs, from nm: enough to say in which function a frame lies."""

import bisect
import os
import subprocess

from tape import HANG_SECONDS


class Functions:
    """The functions of one executable or library, by the address they have in the file."""

    def __init__(self, path):
        text = subprocess.run(["nm", "-C", "--defined-only", "-S", str(path)], capture_output=True, text=True,
                              timeout=HANG_SECONDS, check=True).stdout
        found = []
        for line in text.splitlines():
            words = line.split(maxsplit=3)
            if len(words) == 4 and words[2] in "tTwW":
                found.append((int(words[0], 16), int(words[1], 16), words[3]))
        self.functions = sorted(found)

    def at(self, address):
        """The name of the function around an address; None outside of all."""
        index = bisect.bisect_right(self.functions, (address, 1 << 64, "")) - 1
        if index < 0:
            return None
        start, size, name = self.functions[index]
        return name.partition("(")[0].removesuffix(".cold") if start <= address < start + size else None

    def names(self, stack, file):
        """The functions of a stack's frames that lie in this file; the others as None. A return address may be the first
        one behind its function, so the byte before it is asked for."""
        name = os.path.basename(file)
        return [self.at(frame.offset - 1) if frame.module == name else None for frame in stack]
