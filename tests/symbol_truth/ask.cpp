// Names the addresses of one file, for comparison with other tools:
//   ask [--debug-dir DIR]... [--sysroot DIR] [--names short|full|mangled] [--quiet] FILE < ADDRESSES
// Addresses are hexadecimal, one a line. For each: the address, then a line per place, innermost first, with a tab between
// function and FILE:LINE:COLUMN; unknown parts are "?". What went wrong goes to the standard error.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "symbols/demangle.h"
#include "symbols/symbolizer.h"

int main(int count, char** arguments) {
  using namespace heaptape;
  SymbolOptions options;
  options.debug_dirs.clear();
  NameForm form = NameForm::Full;
  bool quiet = false;
  std::string file;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const auto value = [&]() -> std::string { return i + 1 < count ? arguments[++i] : ""; };
    if (argument == "--debug-dir")
      options.debug_dirs.push_back(value());
    else if (argument == "--sysroot")
      options.sysroot = value();
    else if (argument == "--quiet")
      quiet = true;
    else if (argument == "--names") {
      const std::string name = value();
      form = name == "short" ? NameForm::Short : name == "mangled" ? NameForm::Mangled : NameForm::Full;
    } else
      file = argument;
  }
  std::vector<std::uint64_t> addresses;
  for (std::string line; std::getline(std::cin, line);) addresses.push_back(std::strtoull(line.c_str(), nullptr, 16));
  Symbolizer symbolizer(options);
  ModuleSymbols symbols = symbolizer.open({.path = file});
  const auto start = std::chrono::steady_clock::now();
  const std::vector<SourcePlaces> found = symbols.find(addresses);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto or_unknown = [](const std::string& text) { return text.empty() ? std::string("?") : text; };
  std::size_t named = 0, lined = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    named += !found[i].empty() && !found[i].back().function.empty();
    lined += !found[i].empty() && found[i].front().line != 0;
    if (quiet) continue;
    std::printf("%#llx\n", static_cast<unsigned long long>(addresses[i]));
    for (const SourcePlace& place : found[i]) {
      std::printf("\t%s\t%s:%u:%u\n", or_unknown(demangle(place.function, form)).c_str(),
                  or_unknown(place.file).c_str(), place.line, place.column);
    }
  }
  if (quiet)
    std::printf("%zu addresses, %zu named, %zu with a line, %.2f s\n", addresses.size(), named, lined, took.count());
  for (const std::string& problem : symbols.problems()) std::fprintf(stderr, "%s\n", problem.c_str());
  for (const SymbolOrigin& origin : symbols.origins())
    std::fprintf(stderr, "used: %d %s\n", static_cast<int>(origin.kind), origin.path.c_str());
  return 0;
}
