#!/usr/bin/env python3
"""Each bad sample is refused for its own reason, and a good tree passes."""

import tempfile
import unittest
from pathlib import Path

import check_layers

GOOD = {
    "src/wire/layout.h": "#include <cstdint>\n",
    "src/base/result.h": '#include "base/check.h"\n',
    "src/base/check.h": "",
    "src/tape/reader.h": '#include "base/result.h"\n#include "wire/layout.h"\n',
    "src/analysis/replay.h": '#include "tape/reader.h"\n',
    "src/collector/drain.cpp": '#include "analysis/replay.h"\n#include "wire/layout.h"\n',
    "src/recorder/core/ring.h": '#include "wire/layout.h"\n',
    "src/recorder/hooks/malloc.cpp": '#include "recorder/core/ring.h"\n',
    "src/cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "tape/reader.h"\n',
    "include/heaptape/heaptape.h": "#include <stddef.h>\n",
    "tests/e2e/reader_test.cpp": '#include "tape/reader.h"\n',
    "tests/stack_truth/compare.cpp": '#include "recorder/core/ring.h"\n',
}


class LayerCheck(unittest.TestCase):
    def findings(self, changed_files):
        """What the check says of the good tree with some files replaced."""
        files = GOOD | changed_files
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_layers.check_tree(Path(folder))

    def assert_refused(self, name, text, expected):
        self.assertEqual(self.findings({name: text}), [expected])

    def test_a_tree_that_follows_the_arrows_passes(self):
        self.assertEqual(self.findings({}), [])

    def test_an_include_without_an_arrow_is_refused(self):
        self.assert_refused("src/tape/reader.h", '#include "analysis/replay.h"\n',
                            "src/tape/reader.h:1: tape may not include analysis")

    def test_nothing_of_ours_enters_the_recorder_but_wire(self):
        self.assert_refused("src/recorder/core/ring.h", '\n#include "base/result.h"\n',
                            "src/recorder/core/ring.h:2: recorder/core may not include base")

    def test_core_does_not_know_hooks(self):
        self.assert_refused("src/recorder/core/ring.h", '#include "recorder/hooks/malloc.cpp"\n',
                            "src/recorder/core/ring.h:1: recorder/core may not include recorder/hooks")

    def test_no_other_layer_includes_the_recorder(self):
        self.assert_refused("src/collector/drain.cpp", '  #  include "recorder/core/ring.h"\n',
                            "src/collector/drain.cpp:1: collector may not include recorder/core")

    def test_tests_and_benchmarks_do_not_include_the_recorder(self):
        self.assert_refused("tests/e2e/reader_test.cpp", '#include "recorder/core/ring.h"\n',
                            "tests/e2e/reader_test.cpp:1: nothing outside recorder/ includes it")

    def test_a_public_header_includes_nothing_of_ours(self):
        self.assert_refused("include/heaptape/heaptape.h", '#include "wire/layout.h"\n',
                            "include/heaptape/heaptape.h:1: a public header may not include wire")

    def test_an_include_relative_to_the_file_is_refused(self):
        self.assert_refused("src/base/result.h", '#include "check.h"\n',
                            'src/base/result.h:1: "check.h" is no file under src/; includes read "layer/file.h"')

    def test_our_header_in_angle_brackets_is_refused(self):
        self.assert_refused("src/base/result.h", "#include <base/check.h>\n",
                            'src/base/result.h:1: write #include "base/check.h", angle brackets are for other projects')

    def test_a_file_outside_every_layer_is_refused(self):
        self.assert_refused("src/util/helper.h", "",
                            "src/util/helper.h:1: lies in no layer; add the layer to check_layers.py and "
                            "docs/architecture.md")


if __name__ == "__main__":
    unittest.main()
