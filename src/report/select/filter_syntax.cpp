#include "report/select/filter_syntax.h"

#include <algorithm>

#include "base/number_text.h"
#include "report/text/text_style.h"

namespace heaptape {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_operator(char c) { return c == '=' || c == '!' || c == '<' || c == '>' || c == '~'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

class FilterParser {
public:
  explicit FilterParser(std::string_view text) : text_(text) {}

  Result<FilterTerm> parse() {
    skip_space();
    if (at_end()) return FilterTerm{};
    Result<FilterTerm> whole = either(0);
    if (!whole || at_end()) return whole;
    if (text_[at_] == ')') return wrong(at_, "this ')' closes nothing");
    return not_joined("'and' or 'or'");
  }

private:
  using Kind = FilterTerm::Kind;

  Error wrong(std::size_t at, const std::string& sentence) const { return filter_error(text_, at, sentence); }
  Error not_joined(const std::string& expected) const {
    if (text_[at_] == '&') return wrong(at_, "write 'and' instead of '&&'");
    if (text_[at_] == '|') return wrong(at_, "write 'or' instead of '||'");
    return wrong(at_, expected + " is missing here");
  }
  bool at_end() const { return at_ == text_.size(); }
  bool at_char(char c) const { return !at_end() && text_[at_] == c; }
  void skip_space() {
    while (!at_end() && is_space(text_[at_])) ++at_;
  }

  // The bare word here, which may be empty.
  std::string_view peek_word() const {
    std::size_t end = at_;
    while (end < text_.size() && !is_space(text_[end]) && !is_operator(text_[end]) && !is_quote(text_[end]) &&
           text_[end] != '(' && text_[end] != ')')
      ++end;
    return text_.substr(at_, end - at_);
  }
  // Takes a word of the language, in small letters or capitals.
  bool take_keyword(std::string_view keyword) {
    const std::string_view word = peek_word();
    const auto same = [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b); };
    if (!std::equal(word.begin(), word.end(), keyword.begin(), keyword.end(), same)) return false;
    at_ += word.size();
    skip_space();
    return true;
  }

  Result<FilterTerm> either(std::size_t depth) { return chain(depth, Kind::Either, "or", &FilterParser::all); }
  Result<FilterTerm> all(std::size_t depth) { return chain(depth, Kind::All, "and", &FilterParser::one); }

  Result<FilterTerm> chain(std::size_t depth, Kind kind, std::string_view keyword,
                           Result<FilterTerm> (FilterParser::*part)(std::size_t)) {
    Result<FilterTerm> first = (this->*part)(depth);
    if (!first || !take_keyword(keyword)) return first;
    FilterTerm term{.kind = kind};
    term.parts.push_back(std::move(first).value());
    do {
      Result<FilterTerm> next = (this->*part)(depth);
      if (!next) return next;
      term.parts.push_back(std::move(next).value());
    } while (take_keyword(keyword));
    return term;
  }

  Result<FilterTerm> one(std::size_t depth) {
    if (depth == kFilterDepth) return wrong(at_, "the filter is nested too deeply");
    if (at_char('(')) {
      const std::size_t open = at_++;
      skip_space();
      Result<FilterTerm> inside = either(depth + 1);
      if (!inside) return inside;
      if (at_end()) return wrong(open, "this '(' is never closed");
      if (!at_char(')')) return not_joined("'and', 'or' or ')'");
      ++at_;
      skip_space();
      return inside;
    }
    if (take_keyword("not")) {
      Result<FilterTerm> inside = one(depth + 1);
      if (!inside) return inside;
      FilterTerm term{.kind = Kind::Not};
      term.parts.push_back(std::move(inside).value());
      return term;
    }
    return comparison();
  }

  Result<FilterTerm> comparison() {
    const std::size_t begin = at_;
    if (at_end()) return wrong(at_, "the filter ends where a field is expected");
    if (at_char('!')) return wrong(at_, "write 'not' instead of '!'");
    const std::string_view word = peek_word();
    if (word.empty()) return wrong(at_, "a field is expected here, such as size in size>1M");
    FilterTerm term{.kind = Kind::Flag, .field = {std::string(word), begin}};
    at_ += word.size();
    skip_space();
    if (take_keyword("in")) {
      term.kind = Kind::Comparison;
      term.op = FilterOperator::In;
      return range(std::move(term));
    }
    if (at_end() || !is_operator(text_[at_])) return term;
    term.kind = Kind::Comparison;
    if (!take_operator(term.op)) return wrong(at_, "a comparison is expected here: = != < <= > >= ~ or !~");
    skip_space();
    const bool pattern = term.op == FilterOperator::Match || term.op == FilterOperator::NoMatch;
    if (const Result<> taken = value(term.value, pattern ? Until::PatternEnds : Until::WordEnds); !taken)
      return taken.error();
    if (term.value.text.empty() && term.value.at == at_)
      return wrong(at_, "a value is missing after '" + term.field.text + "'");
    skip_space();
    return term;
  }

  bool take_operator(FilterOperator& op) {
    struct Spelling {
      std::string_view text;
      FilterOperator op;
    };
    static constexpr Spelling kSpellings[] = {
        {"!=", FilterOperator::NotEqual}, {"<=", FilterOperator::LessEqual}, {">=", FilterOperator::GreaterEqual},
        {"!~", FilterOperator::NoMatch},  {"==", FilterOperator::Equal},     {"=~", FilterOperator::Match},
        {"=", FilterOperator::Equal},     {"<", FilterOperator::Less},       {">", FilterOperator::Greater},
        {"~", FilterOperator::Match},
    };
    for (const Spelling& spelling : kSpellings) {
      if (!text_.substr(at_).starts_with(spelling.text)) continue;
      const std::size_t end = at_ + spelling.text.size();
      const bool pattern = spelling.op == FilterOperator::Match || spelling.op == FilterOperator::NoMatch;
      if (!pattern && end < text_.size() && is_operator(text_[end])) return false; // "=>", "!!"
      op = spelling.op;
      at_ = end;
      return true;
    }
    return false;
  }

  Result<FilterTerm> range(FilterTerm term) {
    const std::size_t begin = at_;
    if (const Result<> taken = value(term.value, Until::DotsOrWordEnd); !taken) return taken.error();
    skip_space();
    if (text_.substr(at_).starts_with("..")) {
      term.has_dots = true;
      at_ += 2;
      // A keyword behind the dots is the next part of the filter, not the range's end.
      const std::size_t dots_end = at_;
      skip_space();
      const std::string_view word = peek_word();
      if (at_ != dots_end && (word == "and" || word == "or")) {
        term.end.at = at_;
      } else if (const Result<> taken = value(term.end, Until::WordEnds); !taken) {
        return taken.error();
      }
      skip_space();
    }
    if (term.value.text.empty() && term.end.text.empty())
      return wrong(begin, "a range is missing here, such as 1k..64k");
    return term;
  }

  enum class Until : std::uint8_t { WordEnds, PatternEnds, DotsOrWordEnd };

  Result<> value(FilterValue& taken, Until until) {
    taken.at = at_;
    if (!at_end() && is_quote(text_[at_])) return quoted(taken);
    std::size_t open = 0;
    const std::size_t begin = at_;
    for (; !at_end() && !is_space(text_[at_]); ++at_) {
      const char c = text_[at_];
      if (until == Until::PatternEnds) {
        if (c == ')' && open == 0) break;
        if (c == '(') ++open;
        if (c == ')') --open;
        if (c == '\\' && at_ + 1 < text_.size() && !is_space(text_[at_ + 1])) ++at_;
      } else {
        if (is_operator(c) || is_quote(c) || c == '(' || c == ')') break;
        if (until == Until::DotsOrWordEnd && text_.substr(at_).starts_with("..")) break;
      }
    }
    taken.text = text_.substr(begin, at_ - begin);
    return Unit{};
  }

  Result<> quoted(FilterValue& taken) {
    const std::size_t begin = at_;
    const char quote = text_[at_++];
    for (; !at_end(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return Unit{};
      }
      const bool escape = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                          (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
      if (escape) ++at_;
      taken.text += text_[at_];
    }
    return wrong(begin, "this quote is never closed");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

} // namespace

Result<FilterTerm> parse_filter_syntax(std::string_view text) { return FilterParser(text).parse(); }

Error filter_error(std::string_view text, std::size_t at, const std::string& sentence) {
  constexpr std::size_t kBefore = 60, kBehind = 40;
  at = std::min(at, text.size());
  const auto inside_character = [&](std::size_t place) {
    return place < text.size() && (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80;
  };
  std::size_t begin = at > kBefore ? at - kBefore : 0, end = std::min(text.size(), at + kBehind);
  while (begin < at && inside_character(begin)) ++begin;
  while (end > at && inside_character(end)) --end;
  const std::string before = (begin != 0 ? "..." : "") + printable(text.substr(begin, at - begin));
  const std::string behind = printable(text.substr(at, end - at)) + (end != text.size() ? "..." : "");
  return Error{ErrorCode::Usage, at,
               sentence + "\n  " + before + behind + "\n  " + std::string(columns_of(before), ' ') + "^"};
}

} // namespace heaptape
