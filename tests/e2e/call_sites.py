"""The program call_sites, which counts its own allocations by call site."""

from harness import equal, program

SITES = ["site_malloc", "site_calloc", "site_realloc", "site_aligned", "site_new"]


def counted(test, threads, steps=3000, name="call_sites", options=()):
    """The tape of call_sites and its own counts: {site: (allocated, live, at peak)}, each (bytes, blocks)."""
    outcome = test.recording_of([program(name), "counts", threads, steps], options)
    equal(outcome.status, 0, "status of the program")
    counts = {}
    for line in (test.work / "counts").read_text().splitlines():
        name, *numbers = line.split()
        numbers = [int(number) for number in numbers]
        counts[name] = tuple(zip(numbers[0::2], numbers[1::2]))
    return outcome.tape, counts
