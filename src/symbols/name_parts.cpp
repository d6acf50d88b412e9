#include "symbols/name_parts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace heaptape {
namespace {

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '~';
}

} // namespace

std::size_t operator_length(std::string_view text) {
  // Longer ones first.
  constexpr std::array kOperators = std::to_array<std::string_view>(
      {" co_await", " delete[]", " new[]", " delete", " new", "->*", "<<=", "<=>", ">>=", "()", "[]",
       "->",        "++",        "--",     "<<",      ">>",   "<=",  ">=",  "==",  "!=",  "&&", "||",
       "+=",        "-=",        "*=",     "/=",      "%=",   "^=",  "&=",  "|=",  "+",   "-",  "*",
       "/",         "%",         "^",      "&",       "|",    "~",   "!",   "=",   "<",   ">",  ","});
  for (const std::string_view symbol : kOperators)
    if (text.starts_with(symbol)) return symbol.size();
  if (!text.starts_with("\"\"")) return 0;
  std::size_t end = 2;
  while (end < text.size() && (is_identifier(text[end]) || (end == 2 && text[end] == ' '))) ++end;
  return end;
}

bool is_operator_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kWord = "operator";
  return text.substr(at).starts_with(kWord) && (at == 0 || !is_identifier(text[at - 1])) &&
         (at + kWord.size() >= text.size() || !is_identifier(text[at + kWord.size()]));
}

std::size_t closing_bracket(std::string_view text, std::size_t open) {
  std::string stack;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    if (c == 'o' && is_operator_at(text, at)) {
      at += 7 + operator_length(text.substr(at + 8));
      continue;
    }
    if (c == '<' || c == '(' || c == '{' || c == '[') stack.push_back(c);
    if (c == '>' && (text[at - 1] == '-' || stack.back() != '<')) continue;
    if (c == '>') stack.pop_back();
    if (c == ')' || c == '}' || c == ']') {
      const std::size_t opened = stack.rfind(c == ')' ? '(' : c == '}' ? '{' : '[');
      if (opened == std::string::npos) return std::string_view::npos;
      stack.resize(opened);
    }
    if (stack.empty()) return at;
  }
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      const std::size_t end = closing_bracket(text, at);
      if (end == std::string_view::npos) break;
      at = end;
    } else if (c == ',') {
      parts.push_back(trimmed(text.substr(start, at - start)));
      start = at + 1;
    }
  }
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

std::vector<NamePart> name_parts(std::string_view demangled) {
  constexpr std::size_t kMostParts = 64;
  std::vector<NamePart> parts(1);
  std::size_t start = 0; // of the last part
  const auto end_name = [&](std::size_t at) {
    if (parts.back().name.empty()) parts.back().name = demangled.substr(start, at - start);
  };
  for (std::size_t at = 0; at < demangled.size(); ++at) {
    const char c = demangled[at];
    if (c == 'o' && is_operator_at(demangled, at)) return {};
    if (c == ' ') { // what came was the return type
      parts.assign(1, {});
      start = at + 1;
    } else if (c == ':' && demangled.substr(at).starts_with("::")) {
      end_name(at);
      if (parts.size() == kMostParts) return {};
      parts.emplace_back();
      start = ++at + 1;
    } else if (c == '<' || c == '{' || c == '[' || c == '(') {
      const std::size_t end = closing_bracket(demangled, at);
      if (end == std::string_view::npos) return {};
      const bool anonymous = demangled.substr(at, end + 1 - at) == "(anonymous namespace)";
      if (c == '(' && !anonymous) {
        end_name(at);
        return parts;
      }
      if (c == '<' && at != start) {
        end_name(at);
        parts.back().arguments = trimmed(demangled.substr(at + 1, end - at - 1));
      } else if (c == '[' && at != start) { // an ABI tag
        end_name(at);
      }
      at = end;
    }
  }
  end_name(demangled.size());
  return parts;
}

} // namespace heaptape
