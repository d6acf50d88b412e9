#include <algorithm>
#include <charconv>

#include "base/near_word.h"
#include "base/number_text.h"
#include "report/select/filter_program.h"
#include "report/select/kind_set.h"
#include "report/text/time_text.h"
#include "report/view/find_threads.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> whole_number(std::string_view text, int base = 10) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number, base);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return number;
}

// 0x7f.. or, where it cannot be taken for a count of something, without the 0x.
std::optional<std::uint64_t> address_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return whole_number(text.substr(2), 16);
  const bool clear = text == "0" || text.size() >= 8 || text.find_first_not_of("0123456789") != text.npos;
  return clear ? whole_number(text, 16) : std::nullopt;
}

bool is_negated(FilterOperator op) { return op == FilterOperator::NotEqual || op == FilterOperator::NoMatch; }
bool is_match(FilterOperator op) { return op == FilterOperator::Match || op == FilterOperator::NoMatch; }
bool is_equality(FilterOperator op) { return op == FilterOperator::Equal || op == FilterOperator::NotEqual; }

FilterTest::How never(FilterTest& test) {
  test.first = 1;
  test.last = 0;
  return FilterTest::How::InRange;
}

} // namespace

Error FilterBinder::wrong(const FilterValue& value, const std::string& sentence) const {
  return filter_error(text_, value.at, sentence);
}

Result<const FilterField*> FilterBinder::field_of(const FilterTerm& term) const {
  const FilterField* field = find_filter_field(term.field.text);
  const std::string quoted = "'" + printable(term.field.text) + "'";
  if (field == nullptr) {
    std::vector<std::string> known;
    for (const FilterField& each : filter_fields()) {
      if (has_field(of_, each)) known.emplace_back(each.name);
    }
    const std::string meant = did_you_mean(term.field.text, known);
    return wrong(term.field,
                 quoted + " is not a field" + (meant.empty() ? "; known are " + listed(known, "and") : meant));
  }
  if (!has_field(of_, *field))
    return wrong(term.field, quoted + (of_ == FilterOf::Events ? " is a field of blocks, not of events"
                                                               : " is a field of events, not of blocks"));
  if ((field->type == FilterType::Flag) != (term.kind == FilterTerm::Kind::Flag)) {
    return wrong(term.field, field->type == FilterType::Flag
                                 ? quoted + " stands alone: " + term.field.text + ", or not " + term.field.text
                                 : quoted + " needs a comparison, such as " + std::string(field->example));
  }
  return field;
}

Result<std::uint64_t> FilterBinder::number(const FilterField& field, const FilterValue& value) const {
  const std::string quoted = "'" + printable(value.text) + "'";
  switch (field.type) {
  case FilterType::Bytes: {
    const Result<std::uint64_t> bytes = parse_bytes(value.text);
    if (!bytes) return wrong(value, bytes.error().sentence);
    return bytes;
  }
  case FilterType::Duration:
    if (const auto us = parse_time_us(value.text)) return *us;
    if (value.text == "0") return std::uint64_t{0};
    return wrong(value, quoted + " is not a time such as 12.5s, 200ms, 300us or 2min");
  case FilterType::Time:
    if (const auto us = parse_time_us(value.text)) return *us;
    if (value.text == "0") return std::uint64_t{0};
    // A bare number would be taken for an event's, which is not what a time is compared with.
    if (const Result<Moment> moment = names_.moment(value.text); moment && !whole_number(value.text))
      return moment.value().time_us;
    return wrong(value, quoted + " is not a time such as 12.5s or 200ms, a mark, start, peak or end");
  case FilterType::Event:
    if (const auto event = whole_number(value.text)) return *event;
    if (const Result<Moment> moment = names_.moment(value.text)) return moment.value().event;
    return wrong(value, quoted + " is not an event number, a mark, start, peak or end");
  case FilterType::Address:
    if (const auto address = address_number(value.text)) return *address;
    return wrong(value, quoted + " is not an address such as 0x7f3c00001230");
  default:
    if (const auto count = whole_number(value.text)) return *count;
    return wrong(value, quoted + " is not a whole number");
  }
}

Result<> FilterBinder::bind_range(const FilterField& field, const FilterTerm& term, FilterTest& test) {
  test.how = FilterTest::How::InRange;
  test.first = 0;
  test.last = kMost;
  if (is_match(term.op)) return wrong(term.value, "'" + term.field.text + "' is a number, and ~ compares text");
  if (term.op == FilterOperator::In) {
    FilterValue from = term.value, to = term.end;
    bool end_is_outside = false;
    if (!term.has_dots) {
      // As /proc/PID/maps writes them, where the end is the first address behind.
      const std::size_t dash = field.type == FilterType::Address ? from.text.find('-') : from.text.npos;
      if (dash == from.text.npos) return wrong(term.value, "a range is written with two dots: 1k..64k");
      to = {from.text.substr(dash + 1), from.at + dash + 1};
      from.text.resize(dash);
      end_is_outside = true;
    }
    if (!from.text.empty()) {
      const Result<std::uint64_t> first = number(field, from);
      if (!first) return first.error();
      test.first = first.value();
    }
    if (!to.text.empty()) {
      const Result<std::uint64_t> last = number(field, to);
      if (!last) return last.error();
      test.last = last.value();
      if (end_is_outside && test.last != 0) --test.last;
    }
    if (test.first > test.last) return wrong(from, "this range ends before it begins");
    return Unit{};
  }
  const Result<std::uint64_t> value = number(field, term.value);
  if (!value) return value.error();
  switch (term.op) {
  case FilterOperator::Less:
    if (value.value() == 0)
      test.how = never(test);
    else
      test.last = value.value() - 1;
    break;
  case FilterOperator::Greater:
    if (value.value() == kMost)
      test.how = never(test);
    else
      test.first = value.value() + 1;
    break;
  case FilterOperator::LessEqual: test.last = value.value(); break;
  case FilterOperator::GreaterEqual: test.first = value.value(); break;
  default: test.first = test.last = value.value();
  }
  return Unit{};
}

Result<> FilterBinder::bind_threads(const FilterField& field, const FilterTerm& term, FilterTest& test) {
  if (!is_match(term.op) && !is_equality(term.op)) return bind_range(field, term, test);
  std::vector<ThreadId> set;
  const std::string& value = term.value.text;
  if (is_match(term.op)) {
    const Result<Pattern> pattern = Pattern::compile(value);
    if (!pattern) return wrong(term.value, pattern.error().sentence);
    for (const Thread& thread : names_.threads) {
      if (pattern.value().matches(thread.name)) set.push_back(thread.id);
    }
  } else if (const auto number = whole_number(value)) {
    const Result<std::vector<ThreadId>> found = find_threads(names_.threads, value);
    // A damaged tape may have lost the list; then the numbers are all there is.
    if (!found && (!names_.threads.empty() || *number >> 32 != 0)) return wrong(term.value, found.error().sentence);
    if (found) set = found.value();
    if (!found) set.push_back(ThreadId(static_cast<std::uint32_t>(*number)));
  } else {
    for (const Thread& thread : names_.threads) {
      if (thread.name == value) set.push_back(thread.id);
    }
    if (set.empty())
      return wrong(term.value, "no thread is called '" + printable(value) + "'; 'heaptape info' lists them");
  }
  std::sort(set.begin(), set.end());
  if (set.size() == 1) {
    test.how = FilterTest::How::InRange;
    test.first = test.last = set.front().value;
    return Unit{};
  }
  test.how = FilterTest::How::OneOfThreads;
  test.set = static_cast<std::uint32_t>(thread_sets_.size());
  thread_sets_.push_back(std::move(set));
  return Unit{};
}

Result<> FilterBinder::bind_kinds(const FilterTerm& term, FilterTest& test) const {
  test.how = FilterTest::How::OneOfKinds;
  const auto collect = [&](auto fits) {
    for (unsigned kind = 1; kind < static_cast<unsigned>(EventKind::TapeKinds); ++kind) {
      if (fits(static_cast<EventKind>(kind))) test.first |= std::uint64_t{1} << kind;
    }
  };
  if (is_match(term.op)) {
    const Result<Pattern> pattern = Pattern::compile(term.value.text);
    if (!pattern) return wrong(term.value, pattern.error().sentence);
    collect([&](EventKind kind) { return pattern.value().matches(kind_name(kind)); });
    return Unit{};
  }
  if (!is_equality(term.op)) return wrong(term.value, "kinds have no order; write kind=malloc,free or kind~new");
  const Result<KindSet> kinds = KindSet::parse(term.value.text);
  if (!kinds) return wrong(term.value, kinds.error().sentence);
  collect([&](EventKind kind) { return kinds.value().contains(kind); });
  return Unit{};
}

Result<> FilterBinder::bind_name(const FilterField& field, const FilterTerm& term, FilterTest& test) {
  if (!is_match(term.op) && !is_equality(term.op)) {
    return wrong(term.value,
                 "names have no order; write " + term.field.text + "=NAME or " + term.field.text + "~EXPRESSION");
  }
  std::optional<Pattern> pattern;
  if (is_match(term.op)) {
    Result<Pattern> compiled = Pattern::compile(term.value.text);
    if (!compiled) return wrong(term.value, compiled.error().sentence);
    pattern = std::move(compiled).value();
  }
  const FilterSubject what = field.subject == FilterSubject::FreedFunction ? FilterSubject::Function : field.subject;
  test.how = FilterTest::How::OneOfStacks;
  test.set = static_cast<std::uint32_t>(stack_tests_.size());
  stack_tests_.emplace_back(names_.names, what, term.value.text, std::move(pattern));
  return Unit{};
}

Result<FilterTest> FilterBinder::bind(const FilterTerm& term) {
  const Result<const FilterField*> found = field_of(term);
  if (!found) return found.error();
  const FilterField& field = *found.value();
  FilterTest test{.subject = field.subject, .how = FilterTest::How::Holds, .negated = false};
  Result<> bound = Unit{};
  switch (field.type) {
  case FilterType::Flag: break;
  case FilterType::Thread: bound = bind_threads(field, term, test); break;
  case FilterType::Kind: bound = bind_kinds(term, test); break;
  case FilterType::Name: bound = bind_name(field, term, test); break;
  default: bound = bind_range(field, term, test);
  }
  if (!bound) return bound.error();
  test.negated = field.type != FilterType::Flag && is_negated(term.op);
  if (field.subject == FilterSubject::Covers) {
    if (!is_equality(term.op)) return wrong(term.value, "'covers' is compared with = or !=");
    test.how = FilterTest::How::Covers;
  }
  return test;
}

} // namespace heaptape
