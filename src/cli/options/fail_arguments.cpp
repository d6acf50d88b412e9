#include "cli/options/fail_arguments.h"

#include <charconv>
#include <string_view>

#include "base/number_text.h"
#include "cli/options/take_value.h"
#include "collector/options/check_text.h"

namespace heaptape::cli {

void FailArguments::add(OptionList& list) {
  list.number("--fail-nth N", nth_, "--mode fail: the N-th allocation fails; 0: none, they are only counted");
  list.number("--fail-every N", every_, "--mode fail: each N-th fails")
      .between(1, 1'000'000'000'000)
      .excludes("--fail-nth");
  list.text("--fail-probability P", probability_, "--mode fail: each fails with this probability: 0.01, 1%")
      .excludes("--fail-nth")
      .excludes("--fail-every");
  list.number("--seed N", seed_, "with --fail-probability: another N lets others fail (default: 0)")
      .between(0, 1'000'000'000'000)
      .needs("--fail-probability");
  list.text("--fail-above SIZE", above_, "--mode fail: only allocations of more than SIZE");
  list.text("--fail-below SIZE", below_, "--mode fail: only allocations of less than SIZE");
  list.text("--fail-in MODULE", module_,
            "--mode fail: only what this library, or the program, allocates by calls of its own: libssl, ./server");
  list.text("--fail-from FUNCTION", function,
            "--mode fail: only what is allocated in this function, or in what it calls: load, Cache::insert");
  list.optional_text("--sweep[=MAX]", sweep_,
                     "let each allocation fail once, in a run of its own, at most MAX runs (default: 1000), and list "
                     "the crashes")
      .excludes("--fail-nth")
      .excludes("--fail-every")
      .excludes("--fail-probability");
  list.flag("--keep-output", keep_output, "with --sweep: show what the program prints").needs("--sweep");
}

bool FailArguments::given() const {
  return nth_ || every_ || seed_ || sweep_ || !probability_.empty() || !above_.empty() || !below_.empty() ||
         !module_.empty() || !function.empty();
}

Result<> FailArguments::take_sweep() {
  if (!sweep_) return Unit{};
  sweep = kMostRuns;
  if (sweep_->empty()) return Unit{};
  std::uint64_t most = 0;
  const char* const end = sweep_->data() + sweep_->size();
  const auto [rest, status] = std::from_chars(sweep_->data(), end, most);
  constexpr std::uint64_t kMost = 1'000'000;
  if (status != std::errc{} || rest != end || most == 0 || most > kMost)
    return Error{ErrorCode::Usage, "--sweep: '" + *sweep_ + "' is not a number of runs; give 1 to 1000000"};
  sweep = most;
  return Unit{};
}

Result<std::string> FailArguments::text(bool counting) const {
  std::string text;
  if (counting) {
    text = ",nth=0";
  } else if (nth_) {
    text = ",nth=" + std::to_string(*nth_);
  } else if (every_) {
    text = ",every=" + std::to_string(*every_);
  } else if (!probability_.empty()) {
    std::uint64_t chance = 0;
    if (auto taken = take_value("--fail-probability", probability_, parse_probability, chance); !taken)
      return taken.error();
    text = ",chance=" + std::to_string(chance);
    if (seed_) text += ",seed=" + std::to_string(*seed_);
  }
  std::uint64_t above = 0, below = 0;
  if (auto taken = take_value("--fail-above", above_, parse_bytes, above); !taken) return taken.error();
  if (auto taken = take_value("--fail-below", below_, parse_bytes, below); !taken) return taken.error();
  if (!below_.empty() && below <= above + 1)
    return Error{ErrorCode::Usage,
                 "--fail-below: no size is above " + std::to_string(above) + " and below " + std::to_string(below)};
  if (!above_.empty()) text += ",above=" + std::to_string(above);
  if (!below_.empty()) text += ",below=" + std::to_string(below);
  if (!module_.empty()) {
    const std::string name = module_.substr(module_.rfind('/') + 1);
    if (!is_object_name(name))
      return Error{ErrorCode::Usage,
                   "--fail-in: '" + module_ +
                       "' is not the name of a library or program; give one of up to 63 characters, without commas"};
    text += ",in=" + name;
  }
  if (text.empty() && function.empty())
    return Error{ErrorCode::Usage,
                 "--mode fail: which allocations shall fail? Give --fail-nth N, --fail-every N, --fail-probability P, "
                 "--fail-above SIZE, --fail-below SIZE, --fail-in MODULE or --fail-from FUNCTION, or --sweep for each "
                 "of them in turn"};
  return text;
}

Result<std::uint64_t> parse_probability(const std::string& text) {
  const bool is_percent = text.ends_with('%');
  const char* const end = text.data() + text.size() - (is_percent ? 1 : 0);
  double value = 0;
  const auto [rest, status] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (is_percent) value /= 100;
  if (status != std::errc{} || rest != end || !(value > 0 && value <= 1))
    return Error{ErrorCode::Usage, "'" + text + "' is not a probability; give a number above 0, up to 1: 0.01, or 1%"};
  constexpr double kAll = 4294967296.0;
  return static_cast<std::uint64_t>(value * kAll);
}

} // namespace heaptape::cli
