#include "shell/session.h"

#include <algorithm>

#include "analysis/moments.h"

namespace heaptape {

Result<Session> Session::open(const std::string& path, const OpenSession& options) {
  Result<TapeView> view = TapeView::open(path, options.view);
  if (!view) return view.error();
  auto parts = std::make_unique<Parts>(std::move(view).value());
  Moment end = parts->view.points().end;
  if (options.limit != 0 && options.limit < end.event) {
    Result<Moment> limit = parts->view.moment(std::to_string(options.limit));
    if (!limit) return limit.error();
    end = limit.value();
  }
  parts->event = parts->last_event = end.event;
  parts->time_us = parts->last_us = end.time_us;
  return Session(std::move(parts));
}

HeapCursor& Session::heap() {
  if (!parts_->cursor) parts_->cursor.emplace(tape(), view().index());
  if (parts_->cursor->event() != parts_->event) parts_->cursor->seek_event(parts_->event);
  return *parts_->cursor;
}

void Session::move_to(const Moment& moment) {
  parts_->event = std::min(moment.event, parts_->last_event);
  parts_->time_us = std::min(moment.time_us, parts_->last_us);
}

Result<Moment> Session::position(std::string_view text) const {
  PositionPoints points = view().points();
  points.end = {parts_->last_event, parts_->last_us};
  if (points.peak.event > points.end.event) points.peak = points.end;
  points.cursor = Moment{parts_->event, parts_->time_us};
  return find_position(text, points);
}

} // namespace heaptape
