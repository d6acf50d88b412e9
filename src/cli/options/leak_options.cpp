#include "cli/options/leak_options.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string_view>

#include "base/characters.h"

namespace heaptape::cli {
namespace {

Result<std::uint64_t> parse_mask(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  std::uint64_t mask = 0;
  const auto [rest, status] = std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  if (status == std::errc{} && rest == digits.data() + digits.size() && mask != 0) return mask;
  return Error{ErrorCode::Usage,
               "--pointer-mask must be a hexadecimal number such as 0x00ffffffffffffff, not '" + printable(text) + "'"};
}

} // namespace

void LeakOptions::add(OptionList& list) {
  list.text(
      "--at MOMENT", at_,
      "at the last snapshot of memory up to this moment, or at snapshot:N (default: at the end, if there is one)");
  list.number("-n,--rows N", rows_, "causes of each class at most (default: 20)").between(1, 1'000'000'000);
  list.flag("--strict", strict_,
            "count as memcheck does: pointers into a block make it possibly lost wherever they lead, and nothing else "
            "counts");
  list.flag("--no-stacks", no_stacks_, "what only registers and stacks lead to is lost: their words may be left over");
  list.text("--pointer-mask MASK", mask_,
            "words are pointers also when only their bits in MASK are: 0x00ffffffffffffff for tags in the upper byte");
  list.number("--pointer-shift N", shift_, "words are pointers also when shifted left by N bits").between(1, 63);
  list.flag("--show-reachable", show_reachable_, "list what holds the blocks that can still be reached");
  list.number("--error-exitcode N", error_status_, "exit with N when blocks are lost, suppressed ones left out")
      .between(1, 255);
  list.text(
      "--errors-for CLASSES", errors_for_,
      "what --error-exitcode looks at (default: definite,possible): definite, indirect, possible, reachable or all");
}

Result<std::set<LeakClass>> LeakOptions::classes() const {
  constexpr std::array kWords{std::pair{"definite", LeakClass::Definitely},
                              std::pair{"indirect", LeakClass::Indirectly}, std::pair{"possible", LeakClass::Possibly},
                              std::pair{"reachable", LeakClass::Reachable}};
  std::set<LeakClass> classes;
  for (std::string_view rest = errors_for_; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const auto found = std::ranges::find_if(kWords, [&](const auto& each) { return word == each.first; });
    if (found == kWords.end() && word != "all")
      return Error{ErrorCode::Usage,
                   "--errors-for takes definite, indirect, possible, reachable or all, not '" + printable(word) + "'"};
    for (const auto& each : kWords)
      if (word == "all" || word == each.first) classes.insert(each.second);
  }
  return classes;
}

Result<> LeakOptions::apply(const OptionList& list, ReportRequest& request) const {
  LeakWishes& wishes = request.leak_wishes;
  wishes.strict = strict_;
  wishes.stacks = !no_stacks_;
  wishes.holders = show_reachable_;
  wishes.form.shift = static_cast<unsigned>(shift_);
  if (!mask_.empty()) {
    const Result<std::uint64_t> mask = parse_mask(mask_);
    if (!mask) return mask.error();
    wishes.form.mask = mask.value();
  }
  if (const Result<std::set<LeakClass>> good = classes(); !good) return good.error();
  if (list.given("--errors-for") && error_status_ == 0)
    return Error{ErrorCode::Usage, "--errors-for needs --error-exitcode"};
  request.leaks_at = at_;
  constexpr std::array kOfTrees{"--threshold", "--depth",      "--bottom-up", "--top-down",
                                "--by",        "--all-frames", "--expand"};
  request.lost_tree = std::ranges::any_of(kOfTrees, [&](const char* option) { return list.given(option); });
  request.needs_leaks = error_status_ != 0;
  return Unit{};
}

int LeakOptions::status_for(const ReportPage& page) const {
  const Result<std::set<LeakClass>> counted = classes();
  if (error_status_ == 0 || !page.leaks || !counted) return 0;
  const bool any =
      std::ranges::any_of(counted.value(), [&](LeakClass each) { return page.leaks->of(each).blocks != 0; });
  return any ? static_cast<int>(error_status_) : 0;
}

} // namespace heaptape::cli
