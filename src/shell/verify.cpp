// Could the events have happened?
#include "report/pages/verify_tape.h"

#include "shell/all_commands.h"

namespace heaptape {
namespace {

Result<> verify(Session& session, Words& words, Printer& out) {
  const bool json = words.flag("--json");
  const Result<std::uint64_t> limit = words.count("--limit", session.last_event());
  if (!limit) return limit.error();
  if (const Result<> done = words.finish(); !done) return done.error();
  const VerifyTape options{.limit = limit.value(), .should_stop = session.stopper()};
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
