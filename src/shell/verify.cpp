// Could the events have happened?
#include "report/verify_tape.h"

#include <cstdlib>

#include "shell/all_commands.h"

namespace heaptape {
namespace {

Result<> verify(Session& session, Words& words, Printer& out) {
  const bool json = words.flag("--json");
  const auto limit = words.option("--limit");
  if (!limit) return limit.error();
  if (const Result<> done = words.finish(); !done) return done.error();
  VerifyTape options{.limit = session.last_event(), .should_stop = session.stopper()};
  if (limit.value() && (options.limit = std::strtoull(limit.value()->c_str(), nullptr, 10)) == 0) {
    return Error{ErrorCode::Usage, "--limit needs a number of events"};
  }
  const Verdict verdict = verify_tape(session.tape(), options);
  out.print(json ? verdict_json(session.view().path(), verdict) : verdict_text(session.view().path(), verdict));
  return Unit{};
}

} // namespace

const Command kVerifyCommand{.name = "verify",
                             .arguments = "",
                             .summary = "overlapping blocks, impossible frees, damage",
                             .help = "Replays the events and lists what no heap can do, with event numbers.\n"
                                     "--limit N   only the first N events\n"
                                     "--json      as JSON\n",
                             .example = "verify --limit 1000000",
                             .group = CommandGroup::Whole,
                             .run = verify};

} // namespace heaptape
