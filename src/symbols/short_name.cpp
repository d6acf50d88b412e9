// The short form is for reading, not for linking: what two overloads or two instantiations differ in may be left out.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/demangle.h"
#include "symbols/name_parts.h"

namespace heaptape {

namespace {

// Template arguments that take more room than this are shown as "…", in names of functions and of types.
constexpr std::size_t kMaxArguments = 24, kMaxTypeArguments = 80;
// Deeper nesting is damage, or nobody reads it.
constexpr int kMaxDepth = 32;
constexpr std::string_view kAnonymous = "(anonymous namespace)::";
constexpr std::string_view kEllipsis = "…";

bool is_default_argument(std::string_view argument) {
  for (const std::string_view library : {"std::__1::", "std::"}) {
    if (!argument.starts_with(library)) continue;
    argument.remove_prefix(library.size());
    constexpr auto kDefaults = std::to_array<std::string_view>(
        {"allocator<", "char_traits<", "less<", "hash<", "equal_to<", "default_delete<"});
    return std::any_of(kDefaults.begin(), kDefaults.end(), [&](auto name) { return argument.starts_with(name); });
  }
  return false;
}

// Takes inline namespaces of the standard libraries off the end of a name.
void drop_inline_namespace(std::string& name) {
  for (const std::string_view inline_namespace : {"std::__cxx11::", "std::__1::"}) {
    if (name.ends_with(inline_namespace)) name.resize(name.size() - inline_namespace.size() + 5);
  }
}

// "{lambda(int)#1}" without its parameters.
std::string folded_braces(std::string_view braces) {
  if (!braces.starts_with("{lambda(")) return std::string(braces);
  const std::size_t end = closing_bracket(braces, 7);
  return end == std::string_view::npos ? std::string(braces) : "{lambda" + std::string(braces.substr(end + 1));
}

class Folder {
public:
  Folder(int depth, std::size_t most_arguments) : depth_(depth), most_arguments_(most_arguments) {}

  std::string type(std::string_view text) {
    walk(text, false);
    return std::move(out_);
  }

  std::string name(std::string_view text) {
    walk(text, true);
    // Calling a lambda is what lambdas are for.
    constexpr std::string_view kCall = "}::operator()";
    if (out_.ends_with(kCall) && out_.find("{lambda") != std::string::npos) out_.resize(out_.size() - kCall.size() + 1);
    return std::move(out_);
  }

private:
  // A name loses its parameters and what stands in front of it; of a type everything stays.
  void walk(std::string_view text, bool is_name) {
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      if (is_name && c == 'o' && is_operator_at(text, at)) {
        at = take_operator(text, at);
      } else if (text.substr(at).starts_with(kAnonymous)) {
        at += kAnonymous.size();
      } else if (c == '<' || c == '(' || c == '{' || c == '[') {
        const std::size_t end = closing_bracket(text, at);
        if (end == std::string_view::npos) {
          out_ += text.substr(at);
          return;
        }
        const std::string_view inside = text.substr(at + 1, end - at - 1);
        const std::string_view rest = text.substr(end + 1);
        if (c == '<')
          take_angles(inside);
        else if (c == '{')
          out_ += folded_braces(text.substr(at, end + 1 - at));
        else if (c == '[')
          take_square(inside);
        else if (!take_parentheses(inside, rest, is_name))
          return;
        at = end + 1;
        if (c == '(' && is_name) at += skip_qualifiers(rest);
      } else if (is_name && c == ' ' && text.find('(', at) != std::string_view::npos) {
        out_.clear(); // what came was the return type
        ++at;
      } else {
        out_ += c;
        ++at;
        if (c == ':') drop_inline_namespace(out_);
      }
    }
  }

  std::size_t take_operator(std::string_view text, std::size_t at) {
    out_ += "operator";
    at += 8;
    if (const std::size_t length = operator_length(text.substr(at)); length != 0) {
      out_ += text.substr(at, length);
      at += length;
    } else {
      const std::size_t end = std::min(conversion_end(text, at), text.size());
      out_ += ' ' + inner().type(trimmed(text.substr(at, end - at)));
      at = end;
    }
    // Template arguments of an operator are what it is applied to.
    const std::size_t open = at < text.size() && text[at] == ' ' ? at + 1 : at;
    if (open < text.size() && text[open] == '<') {
      if (const std::size_t end = closing_bracket(text, open); end != std::string_view::npos) return end + 1;
    }
    return at;
  }

  // Where the type of a conversion operator ends: at the empty parameter list.
  static std::size_t conversion_end(std::string_view text, std::size_t at) {
    while (at < text.size() && text[at] != '(') {
      if (text[at] == '<') {
        const std::size_t end = closing_bracket(text, at);
        if (end == std::string_view::npos) break;
        at = end;
      }
      ++at;
    }
    return at;
  }

  void take_angles(std::string_view inside) {
    if (inside.starts_with("lambda(")) { // as g++ writes it into debug information
      out_ += "{lambda}";
      return;
    }
    // In Rust a path may begin with angles: <Type as Trait>::function, path::<Type>.
    if (out_.empty() || out_.ends_with("::") || out_.ends_with('&') || out_.ends_with(' ')) {
      take_rust_path(inside);
      return;
    }
    add_arguments(folded_arguments(inside));
  }

  void add_arguments(const std::string& arguments) {
    if (replace_character_template(arguments)) return;
    if (is_constructor()) return;
    out_ += '<' + (arguments.size() > most_arguments_ ? std::string(kEllipsis) : arguments) + '>';
  }

  enum class Paths : std::uint8_t { Whole, LastPart };

  std::string folded_arguments(std::string_view inside, Paths paths = Paths::Whole) const {
    if (depth_ >= kMaxDepth) return std::string(kEllipsis);
    std::vector<std::string_view> parts = split_arguments(inside);
    while (parts.size() > 1 && is_default_argument(parts.back())) parts.pop_back();
    std::string text;
    for (const std::string_view part : parts) {
      if (!text.empty()) text += ", ";
      text += paths == Paths::Whole ? inner().type(part) : last_part(part);
    }
    return text;
  }

  // basic_string<char> is string, basic_ostream<wchar_t> is wostream.
  bool replace_character_template(std::string_view arguments) {
    constexpr std::string_view kPrefix = "std::basic_";
    const bool wide = arguments == "wchar_t";
    const std::size_t start = out_.rfind(kPrefix);
    if ((arguments != "char" && !wide) || start == std::string::npos ||
        out_.find_first_of(" ,<>:", start + kPrefix.size()) != std::string::npos)
      return false;
    out_.erase(start + 5, 6);
    if (wide) out_.insert(start + 5, "w");
    return true;
  }

  // Class::Class<…>: what the arguments of a constructor are does not help.
  bool is_constructor() const {
    const std::size_t colons = out_.rfind("::");
    if (colons == std::string::npos || colons == 0) return false;
    const std::string_view own = std::string_view(out_).substr(colons + 2);
    std::string_view outer = std::string_view(out_).substr(0, colons);
    if (outer.ends_with('>')) outer = outer.substr(0, outer.find('<'));
    outer = outer.substr(outer.rfind(':') + 1);
    return own == outer || (own.starts_with("basic_") && own.substr(6) == outer);
  }

  // Vec<u8> of alloc::vec::Vec<u8>: in Rust the module of a type is rarely what one looks for.
  std::string last_part(std::string_view path) const {
    if (depth_ >= kMaxDepth) return std::string(kEllipsis);
    const std::size_t open = std::min(path.find('<'), path.size());
    const std::size_t colons = path.substr(0, open).rfind("::");
    const bool is_path = open != 0 && path.find_first_of("(&*[ ") >= open && colons != std::string_view::npos;
    return inner().type(is_path ? path.substr(colons + 2) : path);
  }

  void take_rust_path(std::string_view inside) {
    if (inside.starts_with("impl ")) {
      const std::size_t middle = inside.find(" for ");
      if (middle == std::string_view::npos) return;
      out_ = '<' + last_part(inside.substr(middle + 5)) + " as " + last_part(inside.substr(5, middle - 5)) + '>';
    } else if (const std::size_t middle = inside.find(" as "); middle != std::string_view::npos) {
      out_ += '<' + last_part(inside.substr(0, middle)) + " as " + last_part(inside.substr(middle + 4)) + '>';
    } else if (out_.ends_with("::")) {
      out_.resize(out_.size() - 2);
      add_arguments(folded_arguments(inside, Paths::LastPart));
    } else {
      out_ += depth_ >= kMaxDepth ? std::string(kEllipsis) : inner().type(inside);
    }
  }

  void take_square(std::string_view inside) {
    if (!inside.starts_with("abi:")) out_ += '[' + std::string(inside) + ']';
  }

  // False: the name ends here.
  bool take_parentheses(std::string_view inside, std::string_view rest, bool is_name) {
    if (out_.ends_with('!')) { // D: Template!(arguments)
      const std::string arguments = folded_arguments(inside);
      out_ += '(' + (arguments.size() > most_arguments_ ? std::string(kEllipsis) : arguments) + ')';
      return true;
    }
    if (!is_name) {
      out_ += '(' + folded_arguments(inside) + ')';
      return true;
    }
    if (out_.ends_with("decltype") || out_.ends_with("decltype ")) return true;
    // Parameters; what follows may be inside the function: f(int)::Local::g().
    const std::string_view behind = rest.substr(skip_qualifiers(rest));
    return behind.starts_with("::") || behind.starts_with('.') || out_.empty() || is_return_type(behind);
  }

  static bool is_return_type(std::string_view behind) {
    return behind.starts_with(' ') && behind.find('(') != std::string_view::npos;
  }

  // Length of what may follow a parameter list.
  static std::size_t skip_qualifiers(std::string_view rest) {
    const std::size_t before = rest.size();
    for (bool found = true; found;) {
      found = false;
      for (const std::string_view word : {" const", " volatile", " noexcept", " &&", " &", "&&", "&"}) {
        if (!rest.starts_with(word)) continue;
        rest.remove_prefix(word.size());
        found = true;
      }
    }
    return before - rest.size();
  }

  Folder inner() const { return {depth_ + 1, most_arguments_}; }

  int depth_;
  std::size_t most_arguments_;
  std::string out_;
};

// "[clone .isra.0]" of C++ and ".isra.0" of C; compilers make such copies, people do not call them.
std::string_view without_clone(std::string_view name) {
  if (const std::size_t clone = name.find(" [clone "); clone != std::string_view::npos) name = name.substr(0, clone);
  constexpr std::array<std::string_view, 8> kSuffixes{".isra",     ".part", ".constprop",  ".cold",
                                                      ".lto_priv", ".llvm", ".localalias", ".warm"};
  std::size_t end = name.size();
  for (const std::string_view suffix : kSuffixes) {
    const std::size_t at = name.find(suffix);
    if (at == std::string_view::npos || at == 0 || at >= end) continue;
    const std::size_t behind = at + suffix.size();
    if (behind == name.size() || name[behind] == '.') end = at;
  }
  return name.substr(0, end);
}

} // namespace

std::string short_name(std::string_view demangled) {
  std::string_view name = without_clone(demangled);
  for (const std::string_view prefix : {"non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to "}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  std::string folded = Folder(0, kMaxArguments).name(name);
  // The constructor and destructor of what has another name now.
  for (const std::string_view from : {"::basic_", "::~basic_"}) {
    const std::size_t at = folded.rfind(from);
    if (at == std::string::npos) continue;
    const std::string_view own = std::string_view(folded).substr(at + from.size());
    if (std::string_view(folded).substr(0, at).ends_with("std::" + std::string(own)))
      folded.erase(at + from.size() - 6, 6);
  }
  return folded.empty() ? std::string(demangled) : folded;
}

std::string short_type(std::string_view demangled) { return Folder(0, kMaxTypeArguments).type(trimmed(demangled)); }

} // namespace heaptape
