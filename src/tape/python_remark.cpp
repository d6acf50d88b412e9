#include "tape/python_remark.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/path_text.h"

namespace heaptape {

namespace {

// The 11 of "python3.11", "libpython3.11.so.1.0", "libpython3.11d.so"; 0 for "python3", which does not say.
std::optional<int> minor_version(std::string_view path) {
  std::string_view name = base_name(path);
  if (name.starts_with("lib")) name.remove_prefix(3);
  if (!name.starts_with("python3")) return std::nullopt;
  name.remove_prefix(7);
  if (name.empty()) return 0;
  if (name.front() != '.') return std::nullopt;
  int minor = 0;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), minor);
  if (error != std::errc()) return name.starts_with(".so") ? std::nullopt : std::optional(0);
  return minor;
}

bool names_functions(const Meta& meta) {
  const auto variable = meta.find(kPythonPerf);
  if (variable != meta.end() && !variable->second.empty() && variable->second != "0") return true;
  const auto command = meta.find("command");
  if (command == meta.end()) return false;
  // "-X", "perf" or "-Xperf" or "-Xperf_jit"; arguments end with a NUL byte.
  const std::string_view text = command->second;
  return text.find(std::string_view("\0-X\0perf", 8)) != text.npos ||
         text.find(std::string_view("\0-Xperf", 7)) != text.npos;
}

} // namespace

std::string python_remark(std::span<const Module> modules, const Meta& meta) {
  const auto malloc = meta.find(kPythonMalloc);
  const bool has_arenas = malloc == meta.end() || (malloc->second != "malloc" && malloc->second != "malloc_debug");
  for (const Module& module : modules) {
    const std::optional<int> minor = minor_version(module.path);
    if (!minor) continue;
    constexpr int kFirstWithPerf = 12;
    const char* naming =
        *minor >= kFirstWithPerf && !names_functions(meta) ? "python -X perf names Python functions" : "";
    if (!has_arenas) return naming;
    std::string remark =
        "Python keeps objects of up to 512 bytes in arenas of its own: PYTHONMALLOC=malloc shows each of them";
    if (*naming != '\0') remark += std::string(", ") + naming;
    return remark;
  }
  return {};
}

} // namespace heaptape
