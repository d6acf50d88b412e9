// A tape opened to be reported on: its findings, its names and its moments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/index/index.h"
#include "base/result.h"
#include "report/names/stack_names.h"
#include "report/names/symbolize_tape.h"
#include "report/text/damage_text.h"
#include "report/text/time_text.h"
#include "report/view/position.h"
#include "symbols/demangle.h"
#include "tape/contents.h"

namespace heaptape {

struct OpenView {
  NameForm names = NameForm::Short;
  Progress index_progress{};
  SymbolOptions symbols{};
  std::vector<std::string> plumbing{}; // regular expressions: see StackNames::set_plumbing()
};

// Movable; the parts stay where they are. One thread at a time.
class TapeView {
public:
  // Makes and keeps the index when there is none. Names come from the tape or, when it holds none, from the program's
  // files.
  static Result<TapeView> open(const std::string& path, const OpenView& options = {});
  // The same for a tape that was opened from this path.
  static Result<TapeView> open(TapeReader tape, const std::string& path, const OpenView& options = {});

  const std::string& path() const { return parts_->path; }
  const TapeReader& tape() const { return parts_->indexed.tape; }
  const Index& index() const { return parts_->indexed.index; }
  const Findings& findings() const { return parts_->indexed.index.findings; }
  StackNames& names() const { return *parts_->names; }
  const std::vector<Mark>& marks() const { return parts_->marks; }
  // The tape holds no names, and some were found in files on this machine.
  bool symbolized_here() const { return parts_->symbolized_here; }
  // No name at all was found, though there are stacks.
  bool nameless() const { return parts_->nameless; }

  // What cannot be read of it.
  const TapeDamage& damage() const { return parts_->damage; }
  // How many of the missing events are in none of the figures, because the index was made without them.
  std::uint64_t uncounted_events() const;

  // See position.h; there is no cursor.
  Result<Moment> moment(const std::string& text) const;
  PositionPoints points() const;

private:
  struct Parts {
    std::string path;
    IndexedTape indexed;
    Symbols found;
    bool symbolized_here = false, nameless = false;
    std::unique_ptr<StackNames> names{};
    std::vector<Mark> marks{};
    TapeDamage damage{};
  };
  explicit TapeView(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

  std::unique_ptr<Parts> parts_;
};

} // namespace heaptape
