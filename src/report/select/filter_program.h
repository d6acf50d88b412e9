// What a filter is made into: tests, each of which says where to go on when it holds and when not. Of use to filter.cpp
// and filter_binder.cpp alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/names/charged_function.h"
#include "report/select/filter_facts.h"
#include "report/select/filter_fields.h"
#include "report/select/filter_syntax.h"
#include "report/select/frame_filter.h"

namespace heaptape {

// Whether a stack goes through a frame that fits. Asked of each frame and of each stack once.
class StackTest {
public:
  // `pattern` decides when it is there, else equality with `text`.
  StackTest(StackNames& names, FilterSubject what, std::string text, std::optional<Pattern> pattern);

  bool operator()(StackId stack) {
    if (stack.value >= known_.size()) [[unlikely]]
      known_.resize(stack.value + std::size_t{1} + known_.size() / 2);
    std::uint8_t& known = known_[stack.value];
    if (known == kNotAsked) [[unlikely]]
      known = ask(stack);
    return known == kYes;
  }

private:
  static constexpr std::uint8_t kNotAsked = 0, kNo = 1, kYes = 2;
  std::uint8_t ask(StackId stack);
  bool fits(FrameId frame);
  bool fits_frame(FrameId frame) const;

  StackNames* names_;
  FilterSubject what_;
  std::string text_;
  std::optional<Pattern> pattern_;
  Plumbing plumbing_;
  std::vector<std::uint8_t> known_;        // by stack
  std::vector<std::uint8_t> known_frames_; // by frame
};

struct FilterTest {
  enum class How : std::uint8_t { InRange, OneOfKinds, OneOfThreads, OneOfStacks, Holds, Covers };
  static constexpr std::uint32_t kAccept = ~std::uint32_t{0}, kReject = kAccept - 1; // instead of a test's number

  FilterSubject subject{};
  How how{};
  bool negated = false;              // holds when there is a value and it does not fit
  std::uint32_t yes = 0, no = 0;     // the next test
  std::uint32_t set = 0;             // place in the list of threads or stacks
  std::uint64_t first = 0, last = 0; // of the range, inclusive; the bits of kinds; the address covered
};

struct FilterProgram {
  std::vector<FilterTest> tests{};                  // run from the last one
  std::vector<std::vector<ThreadId>> thread_sets{}; // each sorted
  std::vector<StackTest> stack_tests{};
  std::uint32_t start = FilterTest::kAccept;
  bool needs_kind = false, needs_freed = false, needs_now = false, needs_owner_only = true;
  FilterBounds bounds{};
};

// Makes one comparison or flag into a test whose targets are still open.
class FilterBinder {
public:
  FilterBinder(std::string_view text, FilterOf of, const FilterNames& names,
               std::vector<std::vector<ThreadId>>& thread_sets, std::vector<StackTest>& stack_tests)
      : text_(text), of_(of), names_(names), thread_sets_(thread_sets), stack_tests_(stack_tests) {}

  Result<FilterTest> bind(const FilterTerm& term);

private:
  Error wrong(const FilterValue& value, const std::string& sentence) const;
  Result<const FilterField*> field_of(const FilterTerm& term) const;
  Result<std::uint64_t> number(const FilterField& field, const FilterValue& value) const;
  Result<> bind_range(const FilterField& field, const FilterTerm& term, FilterTest& test);
  Result<> bind_threads(const FilterField& field, const FilterTerm& term, FilterTest& test);
  Result<> bind_kinds(const FilterTerm& term, FilterTest& test) const;
  Result<> bind_name(const FilterField& field, const FilterTerm& term, FilterTest& test);

  std::string_view text_;
  FilterOf of_;
  const FilterNames& names_;
  std::vector<std::vector<ThreadId>>& thread_sets_;
  std::vector<StackTest>& stack_tests_;
};

} // namespace heaptape
