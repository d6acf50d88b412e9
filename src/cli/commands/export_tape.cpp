#include "cli/commands/export_tape.h"

#include <unistd.h>

#include <string_view>

#include "analysis/index/index.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/commands/export_file.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "cli/terminal/progress.h"
#include "tape/tape_copy.h"

namespace heaptape::cli {

namespace {

void say_what_is_missing(const TapeCopy& copy, std::size_t snapshots, const TapeExport& options) {
  if (!options.with_contents && snapshots != 0)
    say("left out: " + count_of(snapshots, "snapshot") + " of memory, " + bytes_text(copy.contents_bytes));
  if (!options.with_contents && snapshots == 0)
    say("there is no snapshot of memory on this tape; nothing was left out");
  if (copy.unknown_chunks != 0)
    say("left out, too: " + count_of(copy.unknown_chunks, "part") +
        " of the tape that only a newer heaptape knows; they may hold memory");
  if (copy.damaged_regions != 0)
    say("not copied: " + count_of(copy.damaged_regions, "damaged place") + "; 'heaptape verify' lists them");
}

// Without an index the copy is right, but the first report takes longer.
void index_copy(const std::string& path) {
  ProgressLine progress("indexing");
  MakeIndex how;
  how.progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
  (void)append_index(path, how);
}

} // namespace

int export_as_tape(TapeChoice& choice, TapeExport options) {
  std::size_t snapshots = 0;
  bool has_ended = false;
  {
    const Result<TapeReader> tape = open_chosen_tape(choice);
    if (!tape) return fail(tape.error());
    const TapeDamage damage = damage_of(tape.value());
    say_damage(choice.path, damage, damage.missing_events);
    snapshots = tape.value().snapshots().size();
    has_ended = tape.value().summary().has_value();
  }
  const bool unnamed = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  if (unnamed) options.output = name_beside(choice.path, ".copy.tape");
  const bool is_stream = options.output.empty() || options.output == "-";
  if (!is_stream && same_file(options.output, choice.path))
    return fail({ErrorCode::Usage, "'" + options.output + "' is the tape itself; give -o another name"});

  TapeCopy copy;
  const MakeFile file{.path = options.output, .overwrite = options.force, .owner_only = true};
  const int status = write_file(file, true, [&](OutputFile& output) -> Result<> {
    const Result<TapeSource> source = TapeSource::open(choice.path);
    if (!source) return source.error();
    const Result<TapeCopy> made =
        copy_tape(source.value(), choice.path, options.with_contents, [&](std::span<const std::byte> bytes) {
          return output.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        });
    if (!made) return made.error();
    copy = made.value();
    return Unit{};
  });
  if (status != kOk) return status;
  if (!is_stream && has_ended) index_copy(options.output);
  say_what_is_missing(copy, snapshots, options);
  if (unnamed) say(options.output + " written");
  return kOk;
}

} // namespace heaptape::cli
