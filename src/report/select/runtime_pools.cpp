#include "report/select/runtime_pools.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/number_text.h"
#include "report/names/plumbing_names.h"

namespace heaptape {
namespace {

using Text = std::string_view;

constexpr std::size_t kPoolsShown = 3;

// How a linkage name begins, and whose pool it makes.
using Makers = std::pair<Text, Text>;

// Functions of a runtime that make something for itself, whoever called them.
constexpr std::array kInside = std::to_array<Makers>({
    {"_GLOBAL__sub_I_eh_alloc.cc", "libstdc++'s emergency pool"},
    {"_ZN12_GLOBAL__N_14poolC", "libstdc++'s emergency pool"},
    {"__new_exitfn", "libc's list of exit functions"},
    {"__cxa_thread_atexit_impl", "libc's list of exit functions"},
    {"setlocale", "libc's locale"},
    {"newlocale", "libc's locale"},
    {"bindtextdomain", "libc's message catalogues"},
    {"textdomain", "libc's message catalogues"},
    {"__dcigettext", "libc's message catalogues"},
    {"_d_dso_registry", "D's runtime"},
});
// Functions of a runtime that set all of it up: whatever is called by them is its own.
constexpr std::array kAround = std::to_array<Makers>({
    {"gc_init", "D's garbage collector"},
    {"rt_init", "D's runtime"},
    {"glib_init", "glib's start-up"},
    {"gobject_init", "glib's start-up"},
    {"Py_InitializeFromConfig", "CPython's start-up"},
    {"pymain_init", "CPython's start-up"},
});

// Libraries whose constructors, called by the loader before main(), set up the runtime alone.
constexpr std::array kRuntimes = std::to_array<Makers>({
    {"libstdc++.so", "libstdc++'s emergency pool"},
    {"libc++.so", "libc++'s start-up"},
    {"libc++abi.so", "libc++'s emergency pool"},
    {"libc.so", "libc's start-up"},
    {"ld-linux", "the loader's tables"},
    {"libglib-2.0.so", "glib's start-up"},
    {"libgobject-2.0.so", "glib's start-up"},
    {"libgio-2.0.so", "glib's start-up"},
    {"libdruntime-", "D's runtime"},
    {"libphobos2", "D's runtime"},
    {"libgdruntime.so", "D's runtime"},
    {"libgphobos.so", "D's runtime"},
});

// Functions that write to stdout or read from stdin without being told where.
constexpr std::array kStandardStreams = std::to_array<Text>(
    {"puts", "_IO_puts", "putchar", "putchar_unlocked", "printf", "__printf", "_IO_printf", "vprintf", "__printf_chk",
     "__vprintf_chk", "getchar", "scanf", "__isoc99_scanf", "__isoc23_scanf"});

// Empty: none of them.
Text pool_of(Text name, std::span<const Makers> makers) {
  for (const auto& [beginning, pool] : makers)
    if (name.starts_with(beginning)) return pool;
  return {};
}

bool contains(Text text, Text part) { return text.find(part) != text.npos; }

// In a stripped program that libstdc++ is linked into, its constructor has no name, but still its very own size.
bool is_emergency_pool_by_size(StackNames& names, const StackCost& cost) {
  if (cost.cost != Cost{72'704, 1} && cost.cost != Cost{73'728, 1}) return false;
  const std::vector<FrameId> frames = names.frames_of(cost.stack);
  if (frames.size() < 2 || !names[frames[0]].linkage_name.empty()) return false;
  return std::all_of(frames.begin() + 1, frames.end(), [&](FrameId frame) {
    return is_plumbing_module(names.text(names[frame].module_name)) || starts_thread(names, frame);
  });
}

} // namespace

const RuntimePools::Traits& RuntimePools::traits_of(FrameId frame) {
  if (frame.value >= traits_.size()) traits_.resize(std::max<std::size_t>(names_.frame_count(), frame.value + 1));
  Traits& traits = traits_[frame.value];
  if (traits.known) return traits;
  const Text name = names_[frame].linkage_name, module = names_.text(names_[frame].module_name);
  traits.around = pool_of(name, kAround);
  traits.inside = pool_of(name, kInside);
  traits.runtime = pool_of(module, kRuntimes);
  traits.makes_buffer = contains(name, "_IO_file_doallocate");
  traits.writes_stdout = contains(name, "stdio_sync_filebuf") ||
                         std::find(kStandardStreams.begin(), kStandardStreams.end(), name) != kStandardStreams.end();
  traits.makes_once = contains(name, "once_lock") || contains(name, "OnceLock") || contains(name, "LineWriter");
  traits.is_rust_stdio = contains(name, "3std2io5stdio");
  traits.starts_rust = contains(name, "3std2rt") && contains(name, "lang_start");
  traits.is_loader = module.starts_with("ld-linux");
  traits.known = true;
  return traits;
}

std::string_view RuntimePools::of(StackId stack) {
  const auto [found, added] = by_stack_.try_emplace(stack.value);
  if (added) found->second = of(names_.frames_of(stack));
  return found->second;
}

std::string_view RuntimePools::of(std::span<const FrameId> frames) {
  for (const FrameId frame : frames)
    if (const Text pool = traits_of(frame).around; !pool.empty()) return pool;
  bool buffer = false, once = false; // of a stream of C; something that Rust makes when it is first asked for
  for (const FrameId frame : frames) {
    const Traits& traits = traits_of(frame);
    if (!traits.inside.empty()) return traits.inside;
    buffer |= traits.makes_buffer;
    if (buffer && traits.writes_stdout) return "libc's buffers of stdin and stdout";
    once |= traits.makes_once;
    if (once && traits.is_rust_stdio) return "Rust's buffer of stdout";
    if (traits.starts_rust) return "Rust's start-up";
    if (!plumbing_(frame)) return {}; // from here on it is the program's doing
    // The loader calls constructors of libraries. No code of the program's was passed so far, and outside is the loader alone.
    if (traits.is_loader && frame != frames.front()) {
      const bool only_runtimes =
          std::all_of(frames.begin(), frames.end(), [&](FrameId each) { return !traits_of(each).runtime.empty(); });
      return only_runtimes ? traits_of(frames.front()).runtime : Text();
    }
  }
  return {};
}

std::vector<RuntimePool> RuntimePools::take_from(std::vector<StackCost>& costs) {
  std::map<std::string_view, Cost> sums;
  std::erase_if(costs, [&](const StackCost& cost) {
    std::string_view pool = of(cost.stack);
    if (pool.empty() && is_emergency_pool_by_size(names_, cost)) pool = kInside[0].second;
    if (!pool.empty()) sums[pool] += cost.cost;
    return !pool.empty();
  });
  std::vector<RuntimePool> pools;
  for (const auto& [name, cost] : sums) pools.push_back({name, cost});
  std::stable_sort(pools.begin(), pools.end(),
                   [](const RuntimePool& a, const RuntimePool& b) { return a.cost.bytes > b.cost.bytes; });
  return pools;
}

Cost sum_of(std::span<const RuntimePool> pools) {
  Cost sum;
  for (const RuntimePool& pool : pools) sum += pool.cost;
  return sum;
}

std::string runtime_pools_text(std::span<const RuntimePool> pools) {
  std::string text;
  for (std::size_t i = 0; i < pools.size() && i < kPoolsShown; ++i)
    text += (i == 0 ? "" : ", ") + std::string(pools[i].name) + " " + bytes_text(pools[i].cost.bytes);
  if (pools.size() > kPoolsShown) text += ", and " + count_of(pools.size() - kPoolsShown, "other");
  return text;
}

} // namespace heaptape
