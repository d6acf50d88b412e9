// The files that 'heaptape export' writes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/output_file.h"
#include "report/export/sink.h"

namespace heaptape::cli {

// "app.html" for "/tapes/app.tape", in the current folder.
std::string name_beside(const std::string& tape, std::string_view suffix);

// Writes one file; the result is the exit status. `binary`: not to a terminal.
int write_file(const MakeFile& file, bool binary, const std::function<Result<>(OutputFile&)>& write);
int write_file(const MakeFile& file, Packing packing, bool binary, const std::function<void(Sink&)>& write);

} // namespace heaptape::cli
