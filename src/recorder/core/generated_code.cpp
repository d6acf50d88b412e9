// What is known of generated code.
//
// There are no tables for it, so a frame is followed in one of two ways.
//
//   1. The code after the return address is a plain way out. CPython's trampolines (-X perf) are
//          sub rsp, 8 / call rcx / add rsp, 8 / ret
//      and keep no frame pointer, yet the last two instructions say where their caller's return address lies. This is exact as long as
//      the code stays what it is, so it is used for *sealed* memory only: executable, not writable, and every call that could change
//      that is a hook of ours, which forgets the rule and starts a new generation.
//   2. Otherwise RBP is taken for a frame pointer. V8, the JVM with -XX:+PreserveFramePointer and most others keep one. The rule does
//      not depend on the code, so it stays right when the code is replaced. It is a guess, and what it leads to is checked: a slot on
//      the same stack further out, and in it an address of code that follows a call.
#include "recorder/core/generated_code.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstring>

#include "recorder/core/capture.h"
#include "recorder/core/machine.h"
#include "recorder/core/readable.h"
#include "recorder/core/recorder.h"

namespace heaptape::recorder {

namespace {

// Ranges of generated code. Only ever widened or added to; a reader may see a range a moment late, which costs it a frame.
constexpr std::size_t kMostRanges = 64;
struct CodeRange {
  std::atomic<std::uint64_t> start;
  std::atomic<std::uint64_t> end;
};

class RangeList {
public:
  bool holds(std::uint64_t address) const noexcept { return find(address, address + 1) != nullptr; }
  bool touches(std::uint64_t start, std::uint64_t end) const noexcept { return find(start, end) != nullptr; }

  // Widens a range that touches this one, else adds it; what does not fit is left out.
  void add(std::uint64_t start, std::uint64_t end) noexcept {
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) {
      CodeRange& range = ranges_[i];
      const std::uint64_t range_start = range.start.load(std::memory_order_relaxed);
      const std::uint64_t range_end = range.end.load(std::memory_order_relaxed);
      if (start >= range_start && end <= range_end) return;
      if (start > range_end || end < range_start || range_start == range_end) continue; // not even touching
      if (start < range_start) range.start.store(start, std::memory_order_relaxed);
      if (end > range_end) range.end.store(end, std::memory_order_relaxed);
      return;
    }
    const std::size_t place = count_.fetch_add(1, std::memory_order_acq_rel);
    if (place >= kMostRanges) {
      count_.store(kMostRanges, std::memory_order_relaxed);
      return;
    }
    ranges_[place].start.store(start, std::memory_order_relaxed);
    ranges_[place].end.store(end, std::memory_order_release); // pairs with find()
  }

  // Takes [start, end) out; of a range that it would cut in two, only the lower part stays.
  void remove(std::uint64_t start, std::uint64_t end) noexcept {
    for (std::size_t i = 0, count = size(); i < count; ++i) {
      CodeRange& range = ranges_[i];
      const std::uint64_t range_start = range.start.load(std::memory_order_relaxed);
      const std::uint64_t range_end = range.end.load(std::memory_order_relaxed);
      if (end <= range_start || start >= range_end) continue;
      if (start <= range_start) {
        range.start.store(end < range_end ? end : range_end, std::memory_order_relaxed);
      } else {
        range.end.store(start, std::memory_order_relaxed);
      }
    }
  }

private:
  std::size_t size() const noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    return count < kMostRanges ? count : kMostRanges;
  }
  const CodeRange* find(std::uint64_t start, std::uint64_t end) const noexcept {
    for (std::size_t i = 0, count = size(); i < count; ++i) {
      if (start < ranges_[i].end.load(std::memory_order_acquire) && // pairs with add()
          end > ranges_[i].start.load(std::memory_order_relaxed)) {
        return &ranges_[i];
      }
    }
    return nullptr;
  }

  CodeRange ranges_[kMostRanges];
  std::atomic<std::size_t> count_;
};

constinit RangeList g_generated{};
constinit RangeList g_sealed{};                  // of these, what is not writable
constinit std::atomic<bool> g_rules_read{false}; // a rule was read from sealed code

// Copies code without the risk of a fault: it may be unmapped at this very moment, by another thread. False in a sandbox.
bool read_code(std::uint64_t address, std::uint8_t* bytes, std::size_t size) noexcept {
  if (in_sandbox()) return false;
  const iovec to{bytes, size};
  const iovec from{reinterpret_cast<void*>(address), size};
  const long pid = system_call(SYS_getpid);
  return system_call(SYS_process_vm_readv, pid, as_long(&to), 1, as_long(&from), 1, 0) == static_cast<long>(size);
}

} // namespace

constinit std::atomic<bool> g_code_was_generated{false};

void note_executable(std::uint64_t start, std::uint64_t size, bool sealed) noexcept {
  if (size == 0 || start + size < start) return;
  g_code_was_generated.store(true, std::memory_order_relaxed);
  g_generated.add(start, start + size);
  if (sealed) g_sealed.add(start, start + size);
}

void forget_protected(std::uint64_t start, std::uint64_t size) noexcept {
  const std::uint64_t end = start + size;
  if (!g_sealed.touches(start, end)) return;
  g_sealed.remove(start, end);
  if (!g_rules_read.load(std::memory_order_relaxed)) return;
  if (g_recorder.rules.forget(start, end) != 0) g_code_generation.fetch_add(1, std::memory_order_release);
}

void forget_remapped(std::uint64_t start, std::uint64_t size) noexcept {
  const std::uint64_t end = start + size;
  if (!g_generated.touches(start, end)) return;
  g_sealed.remove(start, end);
  if (g_recorder.rules.forget(start, end) == 0) return; // no stack ever led through it
  g_recorder.code_epoch.fetch_add(1, std::memory_order_relaxed);
  g_code_generation.fetch_add(1, std::memory_order_release); // pairs with capture_changed()
}

bool is_generated_code(std::uint64_t pc) noexcept { return g_generated.holds(pc); }

Rule generated_rule(std::uint64_t return_address) noexcept {
  constexpr std::size_t kBytes = 16;
  std::uint8_t code[kBytes];
  // The last bytes of a page are left alone rather than the next page read.
  const std::uint64_t left = 4096 - (return_address & 4095);
  const std::size_t size = left < kBytes ? left : kBytes;
  if (g_sealed.holds(return_address) && read_code(return_address, code, size)) {
    Rule rule;
    if (read_epilogue(code, size, rule)) {
      g_rules_read.store(true, std::memory_order_relaxed);
      return rule;
    }
  }
  return kFramePointer;
}

bool read_epilogue(const std::uint8_t* code, std::size_t size, Rule& rule) noexcept {
  std::int64_t taken = 0; // bytes off the stack so far
  std::int64_t rbp_at = -1;
  constexpr std::int64_t kMostRoom = 1 << 17; // so that a rule can hold it
  for (std::size_t at = 0; at < size && taken <= kMostRoom;) {
    const std::size_t left = size - at;
    const std::uint8_t* next = code + at;
    const auto pop = [&](std::uint8_t which, std::size_t bytes) {
      if (which == 5 && bytes == 1) rbp_at = taken;
      taken += 8;
      at += bytes;
    };
    if (next[0] == 0xc3 || (left >= 2 && next[0] == 0xf3 && next[1] == 0xc3)) { // ret
      rule = {static_cast<std::int32_t>(8 + taken), 0, RuleKind::Rsp, kFromCode};
      if (rbp_at >= 0) rule.rbp_words = static_cast<std::int16_t>((rbp_at - taken) / 8 - 1);
      return true;
    }
    if (left >= 4 && next[0] == 0x48 && next[1] == 0x83 && next[2] == 0xc4 && next[3] < 0x80 && next[3] % 8 == 0) {
      taken += next[3]; // add rsp, imm8
      at += 4;
    } else if (left >= 7 && next[0] == 0x48 && next[1] == 0x81 && next[2] == 0xc4) {
      std::int32_t room = 0; // add rsp, imm32
      std::memcpy(&room, next + 3, sizeof room);
      if (room < 0 || room % 8 != 0 || room > kMostRoom) return false;
      taken += room;
      at += 7;
    } else if (next[0] >= 0x58 && next[0] <= 0x5f && next[0] != 0x5c) {
      pop(next[0] & 7, 1);
    } else if (left >= 2 && next[0] == 0x41 && next[1] >= 0x58 && next[1] <= 0x5f) {
      pop(next[1] & 7, 2);
    } else {
      return false;
    }
  }
  return false;
}

bool ends_with_call(const std::uint8_t* code, std::size_t size) noexcept {
  if (size >= 5 && code[size - 5] == 0xe8) return true; // call rel32
  // call r/m64, FF /2: the bytes of the operand follow from its mode.
  for (std::size_t bytes = 2; bytes <= 7 && bytes <= size; ++bytes) {
    const std::uint8_t* call = code + size - bytes;
    if (call[0] != 0xff || ((call[1] >> 3) & 7) != 2) continue;
    const std::uint8_t mode = call[1] >> 6;
    const std::uint8_t base = call[1] & 7;
    std::size_t needed = 2;
    if (mode != 3 && base == 4) ++needed;
    if (mode == 1) needed += 1;
    if (mode == 2 || (mode == 0 && base == 5)) needed += 4;
    if (mode == 0 && base == 4 && bytes >= 3 && (call[2] & 7) == 5) needed += 4;
    if (needed == bytes) return true;
  }
  return false;
}

// Declared in rules.h: the table is asked about an address that a guess has led to.
bool follows_call(std::uint64_t pc) noexcept {
  if (is_generated_code(pc - 1)) return true; // it may be replaced at any time, so its bytes prove nothing
  constexpr std::size_t kBytes = 7;
  std::uint8_t code[kBytes];
  if (in_sandbox()) return true;          // we may not look
  const std::uint64_t before = pc & 4095; // on the same page
  const std::size_t size = before != 0 && before < kBytes ? before : kBytes;
  return read_code(pc - size, code, size) && ends_with_call(code, size);
}

} // namespace heaptape::recorder
