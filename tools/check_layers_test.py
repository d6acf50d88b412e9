#!/usr/bin/env python3
"""Each bad sample is refused for its own reason, and a good tree passes."""

import tempfile
import unittest
from pathlib import Path

import check_layers

TABLE = """# A page

| folder | what it is | may include |
|---|---|---|
| `src/wire` | the layout | – |
| `src/base` | small things | – |
| `src/recorder/core` | the inside | wire |
| `src/recorder/hooks` | the outside | recorder/core, wire |
| `src/tape` | the file | wire, base |
| `src/analysis/heap` | a room | tape, base |
| `src/analysis/index` | another | analysis/heap, tape, base |
| `src/cli` | the program | analysis, tape, base |
"""

GOOD = {
    "docs/architecture.md": TABLE,
    "src/wire/layout.h": "#include <cstdint>\n",
    "src/base/result.h": '#include "base/check.h"\n',
    "src/base/check.h": "",
    "src/tape/reader.h": '#include "base/result.h"\n#include "wire/layout.h"\n',
    "src/tape/CMakeLists.txt": "heaptape_library(heaptape_tape SOURCES reader.cpp LINK heaptape_base)\n",
    "src/base/CMakeLists.txt": "heaptape_library(heaptape_base SOURCES check.cpp)\n",
    "src/analysis/CMakeLists.txt": "add_library(heaptape_analysis INTERFACE)\n",
    "src/analysis/heap/map.h": '#include "tape/reader.h"\n',
    "src/analysis/heap/map_test.cpp": '#include "analysis/index/replay.h"\n',
    "src/analysis/index/replay.h": '#include "analysis/heap/map.h"\n',
    "src/recorder/core/ring.h": '#include "wire/layout.h"\n',
    "src/recorder/hooks/malloc.cpp": '#include "recorder/core/ring.h"\n',
    "src/cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "analysis/index/replay.h"\n',
    "src/cli/CMakeLists.txt": "heaptape_library(heaptape_cli SOURCES main.cpp LINK heaptape_analysis heaptape_tape)\n",
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

    def assert_refused(self, name, text, *expected):
        self.assertEqual(self.findings({name: text}), list(expected))

    def test_a_tree_that_follows_the_arrows_passes(self):
        self.assertEqual(self.findings({}), [])

    def test_an_include_without_an_arrow_is_refused(self):
        self.assert_refused("src/base/result.h", '#include "wire/layout.h"\n',
                            "src/base/result.h:1: base may not include wire")

    def test_rooms_of_one_folder_have_arrows_too(self):
        self.assert_refused("src/analysis/heap/map.h", '#include "analysis/index/replay.h"\n',
                            "src/analysis/heap/map.h:1: analysis/heap may not include analysis/index")

    def test_nothing_of_ours_enters_the_recorder_but_wire(self):
        self.assert_refused("src/recorder/core/ring.h", '\n#include "base/result.h"\n',
                            "src/recorder/core/ring.h:2: recorder/core may not include base")

    def test_core_does_not_know_hooks(self):
        self.assert_refused("src/recorder/core/ring.h", '#include "recorder/hooks/malloc.cpp"\n',
                            "src/recorder/core/ring.h:1: recorder/core may not include recorder/hooks")

    def test_not_even_a_test_includes_the_recorder(self):
        self.assert_refused("src/tape/reader_test.cpp", '  #  include "recorder/core/ring.h"\n',
                            "src/tape/reader_test.cpp:1: tape may not include recorder/core")

    def test_tests_and_benchmarks_do_not_include_the_recorder(self):
        self.assert_refused("tests/e2e/reader_test.cpp", '#include "recorder/core/ring.h"\n',
                            "tests/e2e/reader_test.cpp:1: nothing outside recorder/ includes it")

    def test_a_public_header_includes_nothing_of_ours(self):
        self.assert_refused("include/heaptape/heaptape.h", '#include "wire/layout.h"\n',
                            "include/heaptape/heaptape.h:1: a public header may not include wire")

    def test_an_include_relative_to_the_file_is_refused(self):
        self.assert_refused("src/base/result.h", '#include "check.h"\n',
                            'src/base/result.h:1: "check.h" is not a file under src/; includes read "folder/file.h"')

    def test_our_header_in_angle_brackets_is_refused(self):
        self.assert_refused("src/base/result.h", "#include <base/check.h>\n",
                            'src/base/result.h:1: write #include "base/check.h", angle brackets are for other projects')

    def test_a_folder_without_a_row_is_refused(self):
        self.assert_refused("src/util/helper.h", "",
                            "src/util/helper.h:1: src/util has no row in the table of docs/architecture.md")

    def test_a_row_without_a_folder_is_refused(self):
        self.assert_refused("docs/architecture.md", TABLE + "| `src/server` | a ghost | base |\n",
                            "docs/architecture.md: src/server has a row but no sources")

    def test_an_arrow_to_nowhere_is_refused(self):
        self.assert_refused("docs/architecture.md", TABLE.replace("| wire, base |", "| wire, base, cellar |"),
                            "docs/architecture.md: src/tape may include cellar, which has no row")

    def test_arrows_in_a_circle_are_refused(self):
        self.assert_refused("docs/architecture.md", TABLE.replace("| small things | – |", "| small things | tape |"),
                            "docs/architecture.md: the arrows lead in a circle: base -> tape -> base")

    def test_files_that_include_each_other_are_refused(self):
        self.assert_refused("src/base/check.cpp", '#include "base/result.h"\n',
                            "src/base: files include each other in a circle: check -> result -> check")

    def test_a_library_links_no_more_than_its_folder_may_include(self):
        self.assert_refused("src/base/CMakeLists.txt",
                            "heaptape_library(heaptape_base SOURCES check.cpp LINK heaptape_tape)\n",
                            "src/base/CMakeLists.txt: heaptape_base links tape, which src/base may not include")

    def test_a_library_links_what_its_folder_includes(self):
        self.assert_refused("src/tape/CMakeLists.txt", "heaptape_library(heaptape_tape SOURCES reader.cpp)\n",
                            "src/tape/CMakeLists.txt: heaptape_tape includes base but does not link it")


if __name__ == "__main__":
    unittest.main()
