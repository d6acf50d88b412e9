// Could the events have happened?
#include "report/pages/verify_tape.h"

#include "shell/all_commands.h"

namespace heaptape {
namespace {

Result<> verify(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const Result<std::uint64_t> limit = call.count("--limit", session.last_event());
  if (!limit) return limit.error();
  if (const Result<> done = call.finish(); !done) return done.error();
  const VerifyTape options{.limit = limit.value(), .should_stop = session.stopper()};
  const Verdict verdict = verify_tape(session.tape(), options);
  out.print(json ? verdict_json(session.view().path(), verdict) : verdict_text(session.view().path(), verdict));
  return Unit{};
}

constexpr CommandOption kOptions[] = {
    {"--limit N", "only the first N events"},
    {"--json", "as JSON"},
};

} // namespace

const Command kVerifyCommand{.name = "verify",
                             .arguments = "",
                             .summary = "overlapping blocks, impossible frees, damage",
                             .help = "Replays the events and lists what no heap can do, with event numbers.\n",
                             .example = "verify --limit 1000000",
                             .group = CommandGroup::Whole,
                             .run = verify,
                             .options = kOptions};

} // namespace heaptape
