#include "collector/options/function_options.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace heaptape {
namespace {

constexpr std::size_t kMostFunctions = 32; // as in recorder/hooks/pool_functions.cpp
constexpr std::size_t kMostBytes = 4000;

Error usage(std::string sentence) { return Error{ErrorCode::Usage, std::move(sentence)}; }

std::string name_of(std::string_view function) { return std::string(function.substr(0, function.find_first_of(":="))); }

// "1" to "6", each after a colon; `zero`: the first may be "0", and then it is the only one.
bool takes_numbers(std::string_view& text, std::size_t most, bool zero) {
  if (zero && text.starts_with(":0")) {
    text.remove_prefix(2);
    return true;
  }
  for (std::size_t count = 0; !text.empty() && text.front() == ':'; ++count) {
    if (count == most || text.size() < 2 || text[1] < '1' || text[1] > '6') return false;
    text.remove_prefix(2);
  }
  return true;
}

Result<> check(std::string_view function, bool allocates) {
  constexpr std::array<std::string_view, 5> kRecorded{"malloc", "calloc", "realloc", "free", "operator new"};
  const std::string name = name_of(function);
  const std::string shown = "'" + std::string(function) + "'";
  if (name.empty() || name.find(' ') != name.npos)
    return usage(shown + " does not start with a function's name as the linker knows it");
  if (std::find(kRecorded.begin(), kRecorded.end(), name) != kRecorded.end())
    return usage(name + " is always recorded; name a library function that calls it");
  std::string_view rest = function.substr(name.size());
  if (!takes_numbers(rest, allocates ? 2 : 1, allocates))
    return usage(shown + " has an argument that is not a number from 1 to 6; give for example " + name +
                 (allocates ? ":1 or " + name + ":1:2" : ":1"));
  if (rest.empty()) return Unit{};
  if (rest.front() == '=' && rest.size() > 1 && allocates) return Unit{};
  return usage(shown + " is not of the form " + (allocates ? "NAME[:SIZE-ARG[:COUNT-ARG]][=POOL]" : "NAME[:PTR-ARG]"));
}

Result<std::vector<std::string>> parse(const std::string& text, bool allocates) {
  std::vector<std::string> functions;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view one = rest.substr(0, end);
    if (const Result<> good = check(one, allocates); !good) return good.error();
    functions.emplace_back(one);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return functions;
}

} // namespace

Result<std::vector<std::string>> parse_alloc_functions(const std::string& text) { return parse(text, true); }
Result<std::vector<std::string>> parse_free_functions(const std::string& text) { return parse(text, false); }

std::string functions_text(const std::vector<std::string>& functions) {
  std::string text;
  for (const std::string& function : functions) text += (text.empty() ? "" : ",") + function;
  return text;
}

Result<> check_function_count(const CollectorOptions& options) {
  std::set<std::string> names;
  for (const auto* list : {&options.alloc_functions, &options.free_functions}) {
    for (const std::string& function : *list) names.insert(name_of(function));
    if (functions_text(*list).size() > kMostBytes) return usage("the function names are too long in total");
  }
  if (names.size() > kMostFunctions)
    return usage("at most " + std::to_string(kMostFunctions) + " functions are possible, these are " +
                 std::to_string(names.size()));
  return Unit{};
}

std::vector<std::string> unseen_functions(const CollectorOptions& options, const std::set<std::string>& found) {
  std::vector<std::string> sentences;
  std::set<std::string> told;
  for (const auto& [option, list] :
       {std::pair{"--alloc-fn ", &options.alloc_functions}, std::pair{"--free-fn ", &options.free_functions}}) {
    for (const std::string& function : *list) {
      const std::string name = name_of(function);
      if (found.contains(name) || !told.insert(name).second) continue;
      sentences.push_back(
          option + name +
          ": no loaded object calls a function of this name in another one; static functions, and calls "
          "inside one library, cannot be seen");
    }
  }
  return sentences;
}

} // namespace heaptape
