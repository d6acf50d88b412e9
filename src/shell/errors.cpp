// What was wrong with the program's use of memory, over the whole tape.
#include "report/errors/error_json.h"
#include "report/errors/error_text.h"
#include "shell/all_commands.h"

namespace heaptape {
namespace {

Result<> errors(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const Result<std::uint64_t> depth = call.count("--depth", 0);
  if (!depth) return depth.error();
  if (const Result<> done = call.finish(); !done) return done.error();
  const ErrorList list = find_errors(session.view(), {.should_stop = session.stopper()});
  if (json) {
    JsonWriter writer;
    write_error_list(writer, session.view(), list);
    out.print(writer.text() + "\n");
  } else {
    out.print(folded_lines(error_list_text(session.view(), list,
                                           {.style = session.style, .depth = static_cast<std::size_t>(depth.value())}),
                           session.style.width));
  }
  if (!list.contexts.empty()) call.note_problems();
  return Unit{};
}

constexpr CommandOption kOptions[] = {
    {"--depth N", "at most N frames of each stack"},
    {"--json", "as JSON"},
};

} // namespace

const Command kErrorsCommand{
    .name = "errors",
    .arguments = "",
    .summary = "double frees, writes outside of blocks, and so on",
    .help = "Lists the memory errors of the whole tape, one per cause: releases that were wrong and,\n"
            "where the program ran with 'heaptape check', writes outside of blocks.\n",
    .example = "errors --depth 3",
    .group = CommandGroup::Whole,
    .run = errors,
    .options = kOptions};

} // namespace heaptape
