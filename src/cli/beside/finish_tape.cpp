#include "cli/beside/finish_tape.h"

#include <sys/stat.h>

#include "analysis/index/index.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "report/names/finish_tape.h"

namespace heaptape::cli {

namespace {

void add_names(const CollectorResult& result) {
  ProgressLine progress("looking up names");
  AddSymbols how;
  how.fd_of = [&](const std::string& path, const std::vector<std::uint8_t>& build_id) {
    return result.files.fd_of(path, build_id);
  };
  how.run_time = [&](const TapeReader&) {
    const RunTimeFile &map = result.run_time.perf_map(), &dump = result.run_time.jit_dump();
    return RunTimeText{.perf_map = map.fd ? read_run_time_file(map.fd.get()) : std::string(),
                       .growth = map.growth,
                       .jit_dump = dump.fd ? read_run_time_file(dump.fd.get()) : std::string()};
  };
  how.progress = [&](std::string_view path, std::size_t done, std::size_t all) { progress.show(done, all, path); };
  if (const auto added = add_symbols(result.tape, how); !added) say(added.error().sentence);
}

void add_index(const CollectorResult& result) {
  ProgressLine progress("indexing");
  MakeIndex how;
  how.progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
  if (const auto added = append_index(result.tape, how); !added) say(added.error().sentence);
}

} // namespace

std::vector<std::string> where_command() { return {"/proc/self/exe", "where", "--color", "never"}; }

std::function<void(CollectorResult&)> tape_finisher(const CollectorOptions& options) {
  const bool symbols = options.symbols, index = options.index;
  if (!symbols && !index) return {};
  return [symbols, index](CollectorResult& result) {
    if (symbols) add_names(result);
    if (index) add_index(result);
    struct stat facts {};
    if (::stat(result.tape.c_str(), &facts) == 0) result.tape_bytes = static_cast<std::uint64_t>(facts.st_size);
  };
}

} // namespace heaptape::cli
