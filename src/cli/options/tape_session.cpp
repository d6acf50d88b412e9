#include "cli/options/tape_session.h"

#include "cli/options/report_options.h"
#include "cli/terminal/terminal.h"

namespace heaptape::cli {

Result<SessionWishes> take_session_options(Words& words) {
  SessionWishes wishes;
  for (const auto& [name, value] :
       {std::pair{"--at", &wishes.at}, std::pair{"--names", &wishes.names}, std::pair{"--color", &wishes.color}}) {
    const auto given = words.option(name);
    if (!given) return given.error();
    if (given.value()) *value = *given.value();
  }
  const Result<std::uint64_t> limit = words.count("--limit", 0);
  if (!limit) return limit.error();
  wishes.limit = limit.value();
  return wishes;
}

Result<Session> open_session(SessionWishes& wishes) {
  const Result<TextStyle> style = style_of_output(wishes.color);
  if (!style) return style.error();
  ReportOptions options;
  options.set_names(wishes.names);
  Result<TapeView> view = options.open(wishes.tape);
  if (!view) return view.error();
  Result<Session> session = Session::from_view(std::move(view).value(), wishes.limit);
  if (!session) return session.error();
  session.value().style = style.value();
  if (!wishes.at.empty()) {
    const Result<Moment> moment = session.value().position(wishes.at);
    if (!moment) return moment.error();
    session.value().move_to(moment.value());
  }
  return session;
}

} // namespace heaptape::cli
