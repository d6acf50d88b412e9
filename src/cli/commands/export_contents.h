// Exports of what the program's memory held at a snapshot.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/view/tape_view.h"

namespace heaptape::cli {

struct ContentsFormat;

struct ContentsExport {
  std::string output; // empty: standard output or, on a terminal, a file named after the tape
  bool force = false;
  std::string at; // the last snapshot up to this position; empty: the last of all
};

// nullptr: there is none of that name or, without a name, for a file with that suffix.
const ContentsFormat* find_contents_format(std::string_view name, std::string_view output);
std::string contents_format_name(const ContentsFormat& format);

// The result is the exit status.
int export_contents(const ContentsFormat& format, TapeView view, ContentsExport options);

} // namespace heaptape::cli
