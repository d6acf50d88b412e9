// What changed between two moments, for people and for programs.
#pragma once

#include <cstddef>
#include <string>

#include "report/changes/snapshot_changes.h"
#include "report/text/text_style.h"

namespace heaptape {

struct ChangesText {
  std::size_t rows = 20;
  TextStyle style{};
};
// Both moments, the sum, and the largest changes with what holds the new blocks.
std::string changes_text(const SnapshotChanges& changes, const ChangesText& options);
// One object on a line, with all rows.
std::string changes_json(const SnapshotChanges& changes);

} // namespace heaptape
