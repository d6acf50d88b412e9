// Crashes on their way to the tape: few, for each thread has one at most unless somebody writes nonsense. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "tape/crash.h"

namespace heaptape {

class CrashCollector {
public:
  static constexpr std::size_t kMost = 1000;

  // From the bytes of a wire::CrashRecord; `known` is what does not come from these. False: they make no sense.
  [[nodiscard]] bool add(std::string_view bytes, Crash known) {
    wire::CrashRecord record;
    if (bytes.size() != sizeof record) return false;
    std::memcpy(&record, bytes.data(), sizeof record);
    if (record.signal == 0 || record.signal >= kSignals || record.ended_by >= kSignals) return false;
    if (made_ == kMost) return true;
    ++made_;
    known.signal = record.signal;
    known.code = record.code;
    known.ended_by = record.ended_by;
    known.was_handled = record.was_handled != 0;
    known.address = record.address;
    for (std::size_t i = 0; i < known.registers.size(); ++i) known.registers[i] = record.registers[i];
    known.error = record.error;
    known.trap = record.trap;
    known.frames = record.frames;
    const std::size_t count = record.byte_count < sizeof record.bytes ? record.byte_count : sizeof record.bytes;
    known.bytes.assign(reinterpret_cast<const char*>(record.bytes), count);
    waiting_.push_back(std::move(known));
    return true;
  }
  std::vector<Crash> take() { return std::exchange(waiting_, {}); }

private:
  static constexpr std::uint32_t kSignals = 65;

  std::vector<Crash> waiting_;
  std::size_t made_ = 0;
};

} // namespace heaptape
