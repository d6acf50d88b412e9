"""The cases of check_twins and check_twins_cpp by groups, each with what has to be found; see tests/programs/check_twins.h."""

from functools import partial
from typing import NamedTuple

SIZES = (1, 3, 8, 16, 24, 100, 1000, 1024, 4096, 70_000, 200_000, 5 << 20)
MOVING = tuple(size for size in SIZES if size != 200_000)  # that one has room to grow in its place
FEW_SIZES = (24, 1000, 4096, 200_000)
MAKERS = ("malloc", "calloc", "realloc", "reallocarray", "memalign", "far_memalign", "aligned_alloc", "posix_memalign", "valloc",
          "by_growth")
NEW_MAKERS = ("new", "new_array", "new_nothrow", "new_array_nothrow", "new_sized", "new_array_sized", "new_aligned",
              "new_aligned_sized", "new_array_aligned")


class Twin(NamedTuple):
    text: str        # as the program takes it
    sort: str        # what is wrong with the bad one
    size: int        # of the block, as the error has to say it; -1: the case is not about a certain one
    length: int = 0  # from the first wrong byte to the last, where it is certain
    full: bool = False  # found by --mode full alone

    @property
    def words(self):
        return self.text.rpartition("/")[2].split(":")


def over(maker, size, writer, count, fate, where=""):
    return Twin(f"{where}over:{maker}:{size}:{writer}:{count}:{fate}", "write-behind", size, 8 if writer == "member" else count)


def under(maker, size, writer, count, fate, where=""):
    return Twin(f"{where}under:{maker}:{size}:{writer}:{count}:{fate}", "write-before", size, count)


def late(kind, maker, size, writer, count, place, where=""):
    # Of large released blocks `check` fills the first 4 KiB and the last 64 bytes. What realloc cuts off may lie in one.
    full = size > 9000 and (place == "middle" or (kind == "cut" and place == "first"))
    return Twin(f"{where}{kind}:{maker}:{size}:{writer}:{count}:{place}", "write-freed", size, count, full)


RELEASES = {"once-more": "double-free", "later": "double-free", "reused": "double-free", "thread": "double-free",
            "one": "free-inside-block", "eight": "free-inside-block", "sixteen": "free-inside-block", "middle": "free-inside-block",
            "last": "free-inside-block", "end": "free-of-unknown", "stack": "free-of-stack", "variable": "free-of-static",
            "literal": "free-of-static", "code": "free-of-static", "thread-variable": "free-of-unknown", "mapping": "free-of-unknown",
            "small-number": "free-of-unknown", "wild": "free-of-unknown", "not-canonical": "free-of-unknown"}


def release(what, releaser, size, maker, where=""):
    return Twin(f"{where}release:{what}:{releaser}:{size}:{maker}", RELEASES[what], size)


def pair(maker, releaser, size, sort="mismatch"):
    return Twin(f"pair:{maker}:{releaser}:{size}", sort, 7 if maker == "strdup" else size)


def pairs():
    malloc_like, new, new_array = ("malloc", "calloc", "strdup"), ("new", "new_nothrow"), ("new_array", "new_array_nothrow")
    deletes, array_deletes = ("delete", "delete_nothrow"), ("delete_array", "delete_array_nothrow")
    aligned = (("new_aligned", "free"), ("new_aligned", "delete_array_aligned"), ("new_array_aligned", "delete_aligned"),
               ("new_array_aligned", "free"), ("memalign", "delete_aligned"))
    for size in (1, 24, 1000, 200_000):
        yield from (pair(maker, releaser, size) for maker in malloc_like for releaser in deletes + array_deletes)
        yield from (pair(maker, releaser, size) for maker in new for releaser in ("free", "realloc", *array_deletes, "delete_array_sized"))
        yield from (pair(maker, releaser, size) for maker in new_array for releaser in ("free", "realloc", *deletes, "delete_sized"))
        yield from (pair(maker, releaser, size) for maker, releaser in aligned)
    for size in (24, 1000, 200_000):
        yield pair("new", "delete_other_size", size, "wrong-size")
        yield pair("new_array", "delete_array_other_size", size, "wrong-size")
        yield pair("new_aligned", "delete_other_align", size, "wrong-alignment")
        yield pair("new_array_aligned", "delete_array_other_align", size, "wrong-alignment")
        yield pair("new_aligned", "delete", size, "wrong-alignment")
        yield pair("new", "delete_aligned", size, "wrong-alignment")


def releases(places, releasers, sizes, maker="malloc"):
    return [release(what, releaser, size, maker) for what in places for releaser in releasers for size in sizes]


TWICE = ("once-more", "later", "reused", "thread")
INSIDE = ("one", "eight", "sixteen", "middle", "last", "end")
ELSEWHERE = ("stack", "variable", "thread-variable", "literal", "code", "mapping", "small-number", "wild", "not-canonical")
# Calls and the bytes that they write too many.
CALLS = (("loop", 5), ("fill", 1), ("fill", 12), ("backward", 7), ("memset", 8), ("memcpy", 13), ("memmove", 16), ("strcpy", 1),
         ("strcpy", 10), ("strncpy", 9), ("strcat", 1), ("strcat", 6), ("sprintf", 2), ("wide", 4), ("wide", 16), ("read", 3),
         ("member", 8))
BACKWARD_CALLS = (("memset", 8), ("memcpy", 13), ("backward", 5), ("wide", 12), ("read", 3))
LATE_CALLS = (("store", 8), ("loop", 24), ("memcpy", 16), ("wide", 8), ("read", 9))
NEW_AND_DELETE = (("new", "delete"), ("new_array", "delete_array"), ("new", "delete_sized"), ("new_aligned", "delete_aligned"))


def stores(kind, sizes, counts, fates, maker="malloc"):
    return [kind(maker, size, "store", count, fate) for size in sizes for count in counts for fate in fates]


def in_all_ways(kind, makers, sizes, count, fate):
    return [kind(maker, size, "store", count, fate) for maker in makers for size in sizes]


# Group -> cases of check_twins; each group runs in one process.
IN_C = {
    "stores_behind": stores(over, SIZES, (1, 2, 4, 8, 16), ("free",)),
    "stores_behind_kept_blocks": stores(over, SIZES, (1, 8), ("kept",)),
    "stores_behind_before_a_realloc": stores(over, SIZES, (1, 8), ("grow", "move", "shrink")),
    "calls_that_write_behind": [over("malloc", size, writer, count, "free") for size in FEW_SIZES for writer, count in CALLS],
    "writes_behind_blocks_of_all_makers":
        in_all_ways(over, MAKERS, (1, 24, 1000, 70_000), 1, "free") + in_all_ways(over, MAKERS, (1, 24, 1000, 70_000), 8, "kept") +
        [over("strdup", size, "strcpy", 3, fate) for size in (2, 24, 1000) for fate in ("free", "kept")],
    "stores_before": stores(under, SIZES, (1, 2, 4, 8, 16), ("free",)),
    "stores_before_kept_blocks": stores(under, SIZES, (1, 8), ("kept",)),
    "writes_before_in_other_ways":
        [under("malloc", size, writer, count, fate) for size in FEW_SIZES for fate in ("free", "move", "shrink")
         for writer, count in BACKWARD_CALLS] + in_all_ways(under, MAKERS, (8, 1000, 70_000), 4, "free"),
    "writes_after_release": stores(partial(late, "freed"), SIZES, (1,), ("first", "middle", "last")),
    "writes_after_release_in_other_ways":
        [late("freed", "malloc", size, writer, count, place) for size in FEW_SIZES for place in ("first", "last")
         for writer, count in LATE_CALLS] + in_all_ways(partial(late, "freed"), MAKERS, (8, 1000, 70_000), 1, "first"),
    "writes_after_release_found_at_reuse": stores(partial(late, "reuse"), (1, 16, 100, 1000, 1024, 4096), (1,), ("first", "last")),
    "writes_behind_a_shrunk_block": stores(partial(late, "cut"), SIZES[1:], (1,), ("first", "middle", "last")),
    "writes_through_a_pointer_from_before_realloc": stores(partial(late, "old"), MOVING, (1,), ("first", "last")),
    "writes_in_threads":
        [over("malloc", 24, "store", 1, "free", "thread/"), over("malloc", 1000, "store", 8, "kept", "thread/"),
         under("malloc", 24, "store", 1, "free", "thread/"), under("malloc", 70_000, "store", 8, "kept", "thread/"),
         late("freed", "malloc", 64, "store", 1, "first", "thread/"), late("cut", "malloc", 64, "store", 1, "first", "thread/"),
         late("old", "malloc", 64, "store", 1, "last", "thread/"), late("freed", "malloc", 300_000, "store", 8, "last", "thread/")],
    "writes_in_signal_handlers":
        [over("malloc", 24, "store", 1, "free", "signal/"), over("malloc", 1000, "store", 8, "kept", "signal/"),
         under("malloc", 24, "store", 1, "free", "signal/"), late("freed", "malloc", 64, "store", 1, "first", "signal/"),
         late("freed", "malloc", 300_000, "store", 8, "last", "signal/")],
    "writes_past_the_usable_size": [Twin(f"usable:{maker}:{size}", "write-behind", size, 1) for maker in ("malloc", "calloc", "memalign")
                                    for size in SIZES],
    "writes_to_blocks_of_no_bytes": [Twin(f"zero:{maker}", "write-behind", 0, 1) for maker in ("malloc", "calloc", "memalign")],
    "double_releases": releases(TWICE, ("free", "realloc"), (1, 24, 1000, 70_000, 200_000, 5 << 20)),
    "releases_inside_blocks": releases(INSIDE, ("free", "realloc"), (32, 1000, 70_000, 5 << 20)),
    "releases_of_no_blocks": releases(ELSEWHERE, ("free", "realloc", "reallocarray"), (24,)),
    "releases_in_threads_and_handlers": [release(what, "free", 24, "malloc", where) for what in ("once-more", "sixteen", "variable")
                                         for where in ("thread/", "signal/")],
}
IN_CPP = {
    "writes_around_blocks_of_new":
        in_all_ways(over, NEW_MAKERS, (1, 24, 1000, 200_000), 1, "free") + in_all_ways(over, NEW_MAKERS, (1, 24, 1000, 200_000), 8, "free") +
        in_all_ways(under, NEW_MAKERS, (8, 1000), 4, "free") + in_all_ways(partial(late, "freed"), NEW_MAKERS, (8, 1000, 200_000), 4, "first"),
    "pairs_that_do_not_match": list(pairs()),
    "double_deletes": [release(what, releaser, size, maker) for what in TWICE for size in (24, 1000, 200_000)
                       for maker, releaser in NEW_AND_DELETE],
    "deletes_inside_blocks_and_of_no_blocks": [release(what, releaser, 1000, maker) for what in INSIDE + ELSEWHERE
                                               for maker, releaser in NEW_AND_DELETE],
    "objects_written_outside": [Twin(f"object:{name}", "write-behind", -1) for name in (
        "vector_past_end", "string_past_end", "unique_array", "matrix", "array_with_count", "aligned_object", "name_too_long")] +
                               [Twin("object:vector_before_begin", "write-before", -1)],
    "objects_written_late": [Twin(f"object:{name}", "write-freed", -1) for name in (
        "vector_that_grew", "vector_emptied", "string_that_grew", "list_erased", "map_erased", "hash_erased", "shared_expired",
        "moved_owner", "deletes_itself", "captured", "thrown_through", "late_thread")],
    "objects_released_wrongly": [Twin(f"object:{name}", sort, -1) for name, sort in (
        ("two_owners", "double-free"), ("two_counts", "double-free"), ("base_without_virtual", "wrong-size"),
        ("array_by_delete", "mismatch"), ("array_with_count_by_free", "free-inside-block"), ("placed", "mismatch"),
        ("aligned_by_free", "mismatch"), ("local_object", "free-of-stack"), ("global_object", "free-of-static"))],
}
# Each in a process of its own: what is beside their blocks is written, too.
ALONE = [Twin(f"over:malloc:{size}:stride:3:{fate}", "write-behind", size) for size in (40, 400, 4000, 80_000)
         for fate in ("free", "kept")] + [Twin(f"neighbours:{size}", "write-both", size) for size in (24, 1000, 70_000)]
# How the program ends, and with what status.
ENDS = {"return": 7, "exit": 7, "_exit": 7, "_Exit": 7, "quick_exit": 7, "thread": 7, "last-thread": 0, "abort": 128 + 6,
        "segv": 128 + 11, "raise": 128 + 11, "trap": 128 + 4}
