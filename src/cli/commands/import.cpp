// heaptape import: tapes from recordings of other tools.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/number_text.h"
#include "base/unique_fd.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/import/heaptrack_import.h"

namespace heaptape::cli {
namespace {

constexpr CommandHelp kHelp{
    .usage = "heaptape import heaptrack [options] FILE",
    .purpose = "Makes a tape from a heaptrack data file (heaptrack.PROGRAM.PID.zst, .gz or plain), so every report of "
               "heaptape works on it. Totals, peak and what is live at the end match heaptrack_print.",
    .more =
        R"(heaptrack's files hold no addresses, threads or stacks of releases: addresses on the tape are made up, and all
events belong to one thread. Times are as exact as heaptrack's: ten milliseconds.

Example:
  heaptape import heaptrack -o app.tape heaptrack.app.4711.zst
)"};

struct ImportOptions {
  std::string tool, file, output;
  bool force = false;
};

// "heaptrack.app.4711.zst" becomes "heaptrack.app.4711.tape", in the current folder.
std::string default_output(const std::string& file) {
  std::string name = file.substr(file.rfind('/') + 1);
  for (const std::string_view suffix : {".zst", ".gz"}) {
    if (name.ends_with(suffix)) name.erase(name.size() - suffix.size());
  }
  return name + ".tape";
}

Result<UniqueFd> open_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Error{ErrorCode::NotFound, "cannot open " + path + ": " + std::strerror(errno)};
  return fd;
}

ReadBytes reader_of(const UniqueFd& fd, const std::string& path) {
  return [&fd, path](char* room, std::size_t size) -> Result<std::size_t> {
    ssize_t got = 0;
    do {
      got = ::read(fd.get(), room, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return Error{ErrorCode::Io, "cannot read " + path + ": " + std::strerror(errno)};
    return static_cast<std::size_t>(got);
  };
}

// heaptrack does not record when the program started; its file was last written when the program ended.
std::uint64_t written_ns(const UniqueFd& fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
}

int import_file(const ImportOptions& options) {
  const Result<UniqueFd> fd = open_file(options.file);
  if (!fd) return fail(fd.error());
  Result<TapeWriter> tape = TapeWriter::create(
      {.path = options.output, .overwrite = options.force, .start_realtime_ns = written_ns(fd.value())});
  if (!tape) return fail(tape.error());
  UnpackedLines lines(reader_of(fd.value(), options.file), options.file);
  const Result<ImportedTape> imported = import_heaptrack(lines, options.file, tape.value());
  if (!imported) {
    ::unlink(options.output.c_str());
    return fail(imported.error());
  }
  const Summary& summary = imported.value().summary;
  if (!imported.value().cut_off.empty()) say(imported.value().cut_off + "; the tape holds what came before");
  if (imported.value().odd_lines != 0)
    say(fmt::format("skipped {} of an unknown kind", count_of(imported.value().odd_lines, "line")));
  say(fmt::format("{}: {}, peak {}, live at the end {} in {}", options.output, count_of(summary.events, "event"),
                  bytes_text(summary.peak_bytes), bytes_text(summary.live_bytes),
                  count_of(summary.live_blocks, "block")));
  return kOk;
}

} // namespace

int import_tape(Arguments arguments) {
  ImportOptions options;
  OptionList list("import");
  list.text("-o,--output TAPE", options.output, "name of the tape (default: FILE's name, ending in .tape)");
  list.flag("--force", options.force, "overwrite TAPE if it exists");
  list.word("TOOL", options.tool);
  list.word("FILE", options.file);
  if (const auto status = parse(list, kHelp, arguments)) return *status;
  if (options.tool != "heaptrack") {
    say(options.tool.empty()
            ? std::string("nothing to import; use 'heaptape import heaptrack FILE'")
            : fmt::format("cannot import from '{}'; use 'heaptape import heaptrack FILE'", options.tool));
    return kTrouble;
  }
  if (options.file.empty()) {
    say("no file given; use 'heaptape import heaptrack FILE'");
    return kTrouble;
  }
  if (options.output.empty()) options.output = default_output(options.file);
  return import_file(options);
}

} // namespace heaptape::cli
