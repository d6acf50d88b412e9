#include "cli/options/tape_session.h"

#include "cli/options/command_line.h"
#include "cli/options/report_options.h"
#include "cli/terminal/terminal.h"

namespace heaptape::cli {

void add_session_options(OptionList& list, SessionWishes& wishes) {
  add_no_pager(list);
  wishes.tape.add_pid(list);
  if (!list.knows("--at"))
    list.text(
        "--at POSITION", wishes.at,
        "the moment to ask about (default: end): a time such as 12.5s, an event number, peak, start, end, a mark, "
        "snapshot:2, or a sum such as peak-1; TAPE@2 is TAPE at snapshot 2");
  if (!list.knows("--limit"))
    list.number("--limit N", wishes.limit, "act as if the tape ended with event N").between(1, 1'000'000'000'000);
  list.text("--names FORM", wishes.names, "short (default), full or mangled").one_of({"short", "full", "mangled"});
  add_plumbing(list, wishes.plumbing);
  list.text("--color WHEN", wishes.color, "auto (default), always or never").one_of({"auto", "always", "never"});
}

Result<Session> open_session(SessionWishes& wishes) {
  const Result<TextStyle> style = style_of_output(wishes.color);
  if (!style) return style.error();
  ReportOptions options;
  options.set_names(wishes.names);
  options.set_plumbing(wishes.plumbing);
  wishes.tape.takes_snapshot = true;
  Result<TapeView> view = options.open(wishes.tape);
  if (!view) return view.error();
  const Result<std::string> at = moment_of(wishes.tape, wishes.at);
  if (!at) return at.error();
  Result<Session> session = Session::from_view(std::move(view).value(), wishes.limit);
  if (!session) return session.error();
  session.value().style = style.value();
  if (!at.value().empty()) {
    const Result<Moment> moment = session.value().position(at.value());
    if (!moment) return moment.error();
    session.value().move_to(moment.value());
  }
  return session;
}

} // namespace heaptape::cli
