#include "report/select/suppressions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/path_text.h"

namespace heaptape {
namespace {

// What valgrind shows as the innermost frame of a leak.
constexpr std::array kAllocators = std::to_array<std::string_view>(
    {"malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc", "valloc", "_Znwm", "_Znam",
     "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t"});
// ... and of a wrong release.
constexpr std::array kReleasers = std::to_array<std::string_view>(
    {"free", "cfree", "realloc", "reallocarray", "free_sized", "free_aligned_sized", "_ZdlPv", "_ZdaPv", "_ZdlPvm",
     "_ZdaPvm", "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t"});

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// LeakSanitizer looks for its patterns anywhere, unless they are anchored.
std::string whole_pattern(std::string_view pattern) {
  std::string whole = pattern.starts_with('^') ? "" : "*";
  if (pattern.starts_with('^')) pattern.remove_prefix(1);
  const bool anchored = pattern.ends_with('$');
  if (anchored) pattern.remove_suffix(1);
  whole += pattern;
  return anchored ? whole : whole + "*";
}

std::optional<SuppressionLine> parse_frame(std::string_view line) {
  using Of = SuppressionLine::Of;
  if (line == "...") return SuppressionLine{};
  if (line.starts_with("fun:")) return SuppressionLine{Of::Function, std::string(line.substr(4))};
  if (line.starts_with("obj:")) return SuppressionLine{Of::Object, std::string(line.substr(4))};
  if (line.starts_with("src:")) return SuppressionLine{Of::Source, std::string(line.substr(4))};
  return std::nullopt;
}

bool names_one_of(const SuppressionLine& line, std::span<const std::string_view> functions) {
  return line.of == SuppressionLine::Of::Function &&
         std::any_of(functions.begin(), functions.end(),
                     [&](std::string_view name) { return is_like(name, line.pattern); });
}

// What a line of an entry says that it is about: "Memcheck:Leak", "Memcheck,Addrcheck:Addr4". What follows it may be
// "match-leak-kinds: ...".
SuppressionOf subject_of(std::string_view line) {
  const std::size_t colon = line.rfind(':');
  if (colon == line.npos || line.substr(0, colon).find("Memcheck") == line.npos) return SuppressionOf::Nothing;
  const std::string_view kind = line.substr(colon + 1);
  if (kind == "Leak") return SuppressionOf::Leaks;
  if (kind == "Free") return SuppressionOf::Releases | SuppressionOf::Mismatches;
  constexpr std::string_view kAccess = "Addr";
  if (kind.starts_with(kAccess) && kind.find_first_not_of("0123456789", kAccess.size()) == kind.npos)
    return SuppressionOf::Accesses;
  return SuppressionOf::Nothing;
}

struct SanitizerWord {
  std::string_view word;
  SuppressionOf of;
  bool of_called = false;
};
constexpr SuppressionOf kErrors = SuppressionOf::Accesses | SuppressionOf::Releases | SuppressionOf::Mismatches;
constexpr std::array kSanitizerWords{
    SanitizerWord{"leak:", SuppressionOf::Leaks}, SanitizerWord{"interceptor_via_fun:", kErrors},
    SanitizerWord{"interceptor_via_lib:", kErrors}, SanitizerWord{"interceptor_name:", kErrors, true},
    SanitizerWord{"alloc_dealloc_mismatch:", SuppressionOf::Mismatches}};

// Reads lines one after the other; blank ones and comments are passed over.
class Lines {
public:
  explicit Lines(std::string_view text) : text_(text) {}

  std::optional<std::string_view> next() {
    while (!text_.empty()) {
      ++number_;
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = trimmed(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      if (!line.empty() && line[0] != '#') return line;
    }
    return std::nullopt;
  }
  std::size_t number() const { return number_; }

private:
  std::string_view text_;
  std::size_t number_ = 0;
};

class Matcher {
public:
  // `called`: a function that was called from the innermost frame and has none itself.
  Matcher(StackNames& names, StackId stack, std::string_view called = {})
      : names_(names), frames_(names.frames_of(stack)), called_(called) {}

  bool matches(const Suppression& entry) const {
    if (!entry.pattern.empty()) {
      return std::any_of(frames_.begin(), frames_.end(), [&](FrameId frame) { return lsan(entry.pattern, frame); });
    }
    std::span<const SuppressionLine> lines(entry.lines);
    if (follow(lines)) return true;
    // The allocator itself is not among our frames.
    return !lines.empty() && is_hidden(lines[0], entry.of) && follow(lines.subspan(1));
  }

private:
  bool is_hidden(const SuppressionLine& line, SuppressionOf of) const {
    if (names_one_of(line, kAllocators)) return true;
    if (of == SuppressionOf::Leaks) return false;
    return names_one_of(line, kReleasers) || (!called_.empty() && names_one_of(line, std::span(&called_, 1)));
  }
  bool lsan(std::string_view pattern, FrameId frame) const {
    const NamedFrame& named = names_[frame];
    return function(pattern, frame) || (named.file.value != 0 && is_like(names_.text(named.file), pattern)) ||
           (named.module != nullptr && is_like(named.module->path, pattern));
  }
  bool function(std::string_view pattern, FrameId frame) const {
    const NamedFrame& named = names_[frame];
    if (named.linkage_name.empty()) return false;
    return is_like(named.linkage_name, pattern) || is_like(names_.text(named.function), pattern) ||
           is_like(names_.full_name(frame), pattern);
  }
  bool one(const SuppressionLine& line, FrameId frame) const {
    const NamedFrame& named = names_[frame];
    switch (line.of) {
    case SuppressionLine::Of::Function: return function(line.pattern, frame);
    case SuppressionLine::Of::Object: return named.module != nullptr && is_like(named.module->path, line.pattern);
    case SuppressionLine::Of::Source: {
      const std::string place = std::string(base_name(names_.text(named.file))) + ":" + std::to_string(named.line);
      return named.file.value != 0 &&
             (is_like(place, line.pattern) || is_like(base_name(names_.text(named.file)), line.pattern));
    }
    case SuppressionLine::Of::Any: break;
    }
    return true;
  }
  // Whether the lines match the innermost frames. As in is_like(), only the last "..." need be tried again.
  bool follow(std::span<const SuppressionLine> lines) const {
    std::size_t at = 0, frame = 0, any = lines.size(), retry = 0;
    while (at < lines.size()) {
      if (lines[at].of == SuppressionLine::Of::Any) {
        any = at++;
        retry = frame;
      } else if (frame < frames_.size() && one(lines[at], frames_[frame])) {
        ++at;
        ++frame;
      } else if (any != lines.size() && retry < frames_.size()) {
        at = any + 1;
        frame = ++retry;
      } else {
        return false;
      }
    }
    return true;
  }

  StackNames& names_;
  std::vector<FrameId> frames_;
  std::string_view called_;
};

} // namespace

bool is_like(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, from = 0; // in text, in pattern
  std::size_t star = pattern.npos, retry = 0;
  while (at < text.size()) {
    if (from < pattern.size() && pattern[from] == '*') {
      star = from++;
      retry = at;
    } else if (from < pattern.size() && (pattern[from] == '?' || pattern[from] == text[at])) {
      ++from;
      ++at;
    } else if (star != pattern.npos) {
      // The last star takes one character more.
      from = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  while (from < pattern.size() && pattern[from] == '*') ++from;
  return from == pattern.size();
}

Result<> Suppressions::add(std::string_view text, const std::string& where) {
  Lines lines(text);
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorCode::Usage, where + ", line " + std::to_string(lines.number()) + ": " + what};
  };
  while (const auto line = lines.next()) {
    if (*line == "{") {
      const auto name = lines.next();
      if (!name || *name == "}") return wrong("the suppression has no name");
      Suppression entry{.name = std::string(*name)};
      entry.of = SuppressionOf::Nothing;
      bool ended = false;
      while (const auto inner = lines.next()) {
        if ((ended = *inner == "}")) break;
        if (const auto frame = parse_frame(*inner))
          entry.lines.push_back(*frame);
        else
          entry.of = entry.of | subject_of(*inner);
      }
      if (!ended) return wrong("'}' is missing");
      if (entry.of != SuppressionOf::Nothing && !entry.lines.empty()) entries_.push_back(std::move(entry));
    } else if (const auto* const known = std::ranges::find_if(
                   kSanitizerWords, [&](const auto& each) { return line->starts_with(each.word); });
               known != kSanitizerWords.end()) {
      if (line->size() == known->word.size()) return wrong("'" + std::string(known->word) + "' needs a pattern");
      entries_.push_back({.name = std::string(*line),
                          .pattern = whole_pattern(line->substr(known->word.size())),
                          .of = known->of,
                          .of_called = known->of_called});
    } else if (line->find(':') == line->npos) {
      return wrong("'" + std::string(*line) + "' is neither 'leak:PATTERN' nor the start of a '{ }' entry");
    }
    // Kinds of other sanitizers, such as "race:", mean nothing here.
  }
  return Unit{};
}

void Suppressions::apply(StackNames& names, std::vector<StackCost>& costs) {
  if (entries_.empty()) return;
  // Rows of one stack lie side by side.
  StackId last;
  Suppression* verdict = nullptr;
  bool known = false;
  std::erase_if(costs, [&](const StackCost& cost) {
    if (!known || cost.stack != last) {
      const Matcher matcher(names, cost.stack);
      const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Suppression& entry) {
        return share(entry.of, SuppressionOf::Leaks) && matcher.matches(entry);
      });
      verdict = found != entries_.end() ? &*found : nullptr;
      last = cost.stack;
      known = true;
    }
    if (verdict != nullptr) verdict->used += cost.cost;
    return verdict != nullptr;
  });
}

bool Suppressions::suppress(StackNames& names, const SuppressedError& error) {
  if (entries_.empty()) return false;
  std::vector<Matcher> matchers;
  for (const StackId stack : error.stacks) matchers.emplace_back(names, stack, error.called);
  for (Suppression& entry : entries_) {
    if (!share(entry.of, error.of)) continue;
    const bool matches =
        entry.of_called ? is_like(error.called, entry.pattern)
                        : std::ranges::any_of(matchers, [&](const Matcher& matcher) { return matcher.matches(entry); });
    if (!matches) continue;
    entry.errors += error.count;
    return true;
  }
  return false;
}

Cost Suppressions::suppressed() const {
  Cost sum;
  for (const Suppression& entry : entries_) sum += entry.used;
  return sum;
}

} // namespace heaptape
