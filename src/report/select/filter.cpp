#include "report/select/filter.h"

#include <algorithm>
#include <optional>

#include "report/select/filter_program.h"
#include "report/view/tape_view.h"

namespace heaptape {
namespace {

using Bounds = Filter::Bounds;

Bounds both(const Bounds& a, const Bounds& b) {
  return {std::max(a.first_event, b.first_event),     std::min(a.last_event, b.last_event),
          std::max(a.first_us, b.first_us),           std::min(a.last_us, b.last_us),
          std::max(a.first_address, b.first_address), std::min(a.last_address, b.last_address)};
}
Bounds either(const Bounds& a, const Bounds& b) {
  return {std::min(a.first_event, b.first_event),     std::max(a.last_event, b.last_event),
          std::min(a.first_us, b.first_us),           std::max(a.last_us, b.last_us),
          std::min(a.first_address, b.first_address), std::max(a.last_address, b.last_address)};
}

// What follows from the test holding, or from its not holding.
Bounds bounds_of(const FilterTest& test, bool holds) {
  Bounds bounds;
  if (test.how == FilterTest::How::Covers) {
    if (holds != test.negated) bounds.last_address = test.first;
    return bounds;
  }
  if (test.how != FilterTest::How::InRange) return bounds;
  std::uint64_t first = test.first, last = test.last;
  if (holds == test.negated) { // outside of the range: that is one range only when it reaches an end
    if (first > last) return bounds;
    if (first == 0 && last != Bounds::kLast) {
      first = last + 1;
      last = Bounds::kLast;
    } else if (last == Bounds::kLast && first != 0) {
      last = first - 1;
      first = 0;
    } else {
      return bounds;
    }
  }
  switch (test.subject) {
  case FilterSubject::Event: bounds.first_event = first, bounds.last_event = last; break;
  case FilterSubject::Time: bounds.first_us = first, bounds.last_us = last; break;
  case FilterSubject::Address: bounds.first_address = first, bounds.last_address = last; break;
  default: break;
  }
  return bounds;
}

// Turns the tree into tests from the last to the first, so that each knows where it leads.
class FilterCompiler {
public:
  FilterCompiler(FilterBinder& binder, std::vector<FilterTest>& tests) : binder_(binder), tests_(tests) {}

  struct Part {
    std::uint32_t entry = 0;
    Bounds if_yes{}, if_no{};
  };
  Result<Part> compile(const FilterTerm& term, std::uint32_t yes, std::uint32_t no) {
    switch (term.kind) {
    case FilterTerm::Kind::Not: {
      Result<Part> part = compile(term.parts.front(), no, yes);
      if (part) std::swap(part.value().if_yes, part.value().if_no);
      return part;
    }
    case FilterTerm::Kind::All:
    case FilterTerm::Kind::Either: return compile_chain(term, yes, no);
    default: break;
    }
    Result<FilterTest> test = binder_.bind(term);
    if (!test) return test.error();
    test.value().yes = yes;
    test.value().no = no;
    tests_.push_back(test.value());
    return Part{static_cast<std::uint32_t>(tests_.size() - 1), bounds_of(test.value(), true),
                bounds_of(test.value(), false)};
  }

private:
  Result<Part> compile_chain(const FilterTerm& term, std::uint32_t yes, std::uint32_t no) {
    const bool all = term.kind == FilterTerm::Kind::All;
    Part whole{.entry = all ? yes : no};
    for (std::size_t i = term.parts.size(); i-- > 0;) {
      const Result<Part> part =
          all ? compile(term.parts[i], whole.entry, no) : compile(term.parts[i], yes, whole.entry);
      if (!part) return part;
      const bool last = i + 1 == term.parts.size();
      const Part& each = part.value();
      whole.entry = each.entry;
      whole.if_yes = last ? each.if_yes : all ? both(each.if_yes, whole.if_yes) : either(each.if_yes, whole.if_yes);
      whole.if_no = last ? each.if_no : all ? either(each.if_no, whole.if_no) : both(each.if_no, whole.if_no);
    }
    return whole;
  }

  FilterBinder& binder_;
  std::vector<FilterTest>& tests_;
};

// What a test looks at; nothing when it is not there.
struct Seen {
  std::uint64_t value = 0;
  bool there = true;
};

Seen look(const Event& event, FilterSubject subject) {
  switch (subject) {
  case FilterSubject::Event: return {event.number};
  case FilterSubject::Time: return {event.time_us};
  case FilterSubject::Thread: return {event.thread.value};
  case FilterSubject::Kind: return {static_cast<std::uint64_t>(event.kind)};
  case FilterSubject::Address: return {event.address};
  case FilterSubject::Old: return {replaced_by(event), replaced_by(event) != 0};
  case FilterSubject::Size: return {event.size, has_size(event.kind)};
  default: return {event.stack.value}; // its number, or the names on it
  }
}

Seen look(const BlockFacts& facts, FilterSubject subject) {
  const Block& block = facts.block;
  const auto since = [&](std::uint64_t us) { return us > block.time_us ? us - block.time_us : 0; };
  switch (subject) {
  case FilterSubject::Event: return {block.event};
  case FilterSubject::Time: return {block.time_us};
  case FilterSubject::Thread: return {facts.owner.thread.value};
  case FilterSubject::Kind: return {static_cast<std::uint64_t>(facts.kind), facts.kind != EventKind::None};
  case FilterSubject::Address: return {block.address};
  case FilterSubject::Size: return {block.size};
  case FilterSubject::Age: return {since(facts.freed ? facts.freed_us : facts.now_us)};
  case FilterSubject::Lifetime: return {since(facts.freed_us), facts.freed};
  case FilterSubject::Freed: return {facts.freed};
  case FilterSubject::Live: return {!facts.freed};
  case FilterSubject::FreedEvent: return {facts.freed_event, facts.freed};
  case FilterSubject::FreedTime: return {facts.freed_us, facts.freed};
  case FilterSubject::FreedThread: return {facts.freed_thread.value, facts.freed};
  case FilterSubject::FreedStack:
  case FilterSubject::FreedFunction: return {facts.freed_stack.value, facts.freed};
  default: return {facts.owner.stack.value};
  }
}

bool covers(const BlockFacts& facts, std::uint64_t address) {
  return address - facts.block.address < std::max<std::uint64_t>(facts.block.size, 1);
}
bool covers(const Event&, std::uint64_t) { return false; } // refused when it was bound

template <class Subject>
bool run(std::vector<FilterTest>& tests, const std::vector<std::vector<ThreadId>>& thread_sets,
         std::vector<StackTest>& stack_tests, std::uint32_t at, const Subject& subject) {
  while (at < tests.size()) {
    const FilterTest& test = tests[at];
    const Seen seen = look(subject, test.subject);
    bool fits = false;
    switch (test.how) {
    case FilterTest::How::InRange: fits = seen.value >= test.first && seen.value <= test.last; break;
    case FilterTest::How::OneOfKinds: fits = (test.first >> (seen.value & 63) & 1) != 0; break;
    case FilterTest::How::OneOfThreads: {
      const std::vector<ThreadId>& set = thread_sets[test.set];
      fits = std::binary_search(set.begin(), set.end(), ThreadId(static_cast<std::uint32_t>(seen.value)));
      break;
    }
    case FilterTest::How::OneOfStacks:
      fits = seen.there && stack_tests[test.set](StackId(static_cast<std::uint32_t>(seen.value)));
      break;
    case FilterTest::How::Holds: fits = seen.value != 0; break;
    case FilterTest::How::Covers: fits = covers(subject, test.first); break;
    }
    at = seen.there && fits != test.negated ? test.yes : test.no;
  }
  return at == FilterTest::kAccept;
}

} // namespace

StackTest::StackTest(StackNames& names, FilterSubject what, std::string text, std::optional<Pattern> pattern)
    : names_(&names), what_(what), text_(std::move(text)), pattern_(std::move(pattern)), plumbing_(names) {}

std::uint8_t StackTest::ask(StackId stack) {
  if (what_ == FilterSubject::By) {
    const std::vector<FrameId> frames = names_->frames_of(stack);
    return !frames.empty() && fits(frames[charged_frame(plumbing_, frames)]) ? kYes : kNo;
  }
  bool found = false;
  names_->each_frame(stack, [&](FrameId frame) { found = found || fits(frame); });
  return found ? kYes : kNo;
}

bool StackTest::fits(FrameId frame) {
  if (frame.value >= known_frames_.size()) known_frames_.resize(names_->frame_count());
  std::uint8_t& known = known_frames_[frame.value];
  if (known == kNotAsked) known = fits_frame(frame) ? kYes : kNo;
  return known == kYes;
}

bool StackTest::fits_frame(FrameId frame) const {
  const NamedFrame& named = (*names_)[frame];
  const auto fits_text = [&](std::string_view text) { return pattern_ ? pattern_->matches(text) : text == text_; };
  // "cache.cpp" and "src/cache.cpp" are ends of "/home/me/src/cache.cpp".
  const auto fits_path = [&](std::string_view path) {
    if (pattern_) return pattern_->matches(path);
    if (text_.empty() || !path.ends_with(text_)) return path == text_;
    return path.size() == text_.size() || text_.front() == '/' || path[path.size() - text_.size() - 1] == '/';
  };
  switch (what_) {
  case FilterSubject::File: {
    const std::string_view path = names_->text(named.file);
    if (path.empty()) return false;
    return fits_path(path) || (named.line != 0 && fits_path(std::string(path) + ":" + std::to_string(named.line)));
  }
  case FilterSubject::Module: return named.module != nullptr && fits_path(named.module->path);
  default: return fits_text(names_->text(named.function)) || fits_text(names_->full_name(frame));
  }
}

Result<Filter> Filter::parse(std::string_view text, FilterOf of, const TapeView& view) {
  return parse(text, of,
               FilterNames{.names = view.names(),
                           .threads = view.tape().threads(),
                           .moment = [&](const std::string& name) { return view.moment(name); }});
}

Result<Filter> Filter::parse(std::string_view text, FilterOf of, FilterNames names) {
  const Result<FilterTerm> term = parse_filter_syntax(text);
  if (!term) return term.error();
  auto program = std::make_unique<FilterProgram>();
  FilterBinder binder(text, of, names, program->thread_sets, program->stack_tests);
  const auto compiled =
      FilterCompiler(binder, program->tests).compile(term.value(), FilterTest::kAccept, FilterTest::kReject);
  if (!compiled) return compiled.error();
  program->start = compiled.value().entry;
  program->bounds = compiled.value().if_yes;
  for (const FilterTest& test : program->tests) {
    switch (test.subject) {
    case FilterSubject::Thread:
    case FilterSubject::Stack:
    case FilterSubject::Function:
    case FilterSubject::By:
    case FilterSubject::File:
    case FilterSubject::Module: continue;
    case FilterSubject::Kind: program->needs_kind = true; break;
    case FilterSubject::Age: program->needs_now = true; break;
    case FilterSubject::Event:
    case FilterSubject::Time:
    case FilterSubject::Address:
    case FilterSubject::Covers:
    case FilterSubject::Old:
    case FilterSubject::Size: break;
    default: program->needs_freed = true;
    }
    program->needs_owner_only = false;
  }
  return Filter(std::move(program));
}

Filter::Filter(std::unique_ptr<FilterProgram> program) : program_(std::move(program)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

bool Filter::matches(const Event& event) {
  return run(program_->tests, program_->thread_sets, program_->stack_tests, program_->start, event);
}
bool Filter::matches(const BlockFacts& block) {
  return run(program_->tests, program_->thread_sets, program_->stack_tests, program_->start, block);
}

bool Filter::matches_everything() const { return program_->start == FilterTest::kAccept; }
bool Filter::needs_kind() const { return program_->needs_kind; }
bool Filter::needs_freed() const { return program_->needs_freed; }
bool Filter::needs_now() const { return program_->needs_now; }
bool Filter::needs_owner_only() const { return program_->needs_owner_only; }
const Filter::Bounds& Filter::bounds() const { return program_->bounds; }

} // namespace heaptape
