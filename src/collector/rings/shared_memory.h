// The memory shared with the program (wire/layout.h), created here, and mapped except for the scratch. The accessors
// check nothing but their own arguments: what the program wrote is hostile, and whoever reads it checks it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "collector/options/collector_options.h"
#include "wire/layout.h"

namespace heaptape {

class SharedMemory {
public:
  // A new memfd (close-on-exec; whoever hands it to a program clears that flag) with the header filled in.
  static Result<SharedMemory> create(const CollectorOptions& options);
  // Maps a descriptor made by create(), in another process. Refuses sizes and layouts that do not fit together.
  static Result<SharedMemory> map_existing(UniqueFd fd);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  int fd() const { return fd_.get(); }
  // Gives back all memory but the header, which stays mapped: no program uses the rest any more.
  void empty();
  // The collector keeps the mapping only: the descriptor is not needed after the program has it.
  void close_fd() { fd_.reset(); }

  wire::Header& header() const { return *reinterpret_cast<wire::Header*>(base_); }
  // A private copy: the one in the header can be written by the program.
  const wire::Config& config() const { return config_; }
  // The program has written where only we write, or nobody: what it counts in the header means nothing.
  bool is_written_over() const;
  // Also in the program's environment: shows the recorder that a descriptor is the right one.
  std::uint64_t key() const { return key_; }

  wire::ThreadSlot& slot(std::uint32_t index) const;
  wire::Record* ring(std::uint32_t index) const;
  std::uint32_t ring_records(std::uint32_t index) const { return wire::ring_records_of(index, config_.ring_records); }
  // One bit per slot, claim_words(slot_count) words.
  std::atomic<std::uint64_t>* claims() const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + config_.claims);
  }
  const wire::StackNode* nodes() const;
  std::byte* module_log() const { return base_ + config_.modules; }
  std::byte* answer() const { return base_ + config_.answer; } // wire::kAnswerBytes
  const wire::Children& children() const { return *reinterpret_cast<const wire::Children*>(base_ + config_.children); }

private:
  SharedMemory(UniqueFd fd, std::byte* base, const wire::Config& config, std::uint64_t key);
  void unmap();

  UniqueFd fd_;
  std::byte* base_ = nullptr;
  wire::Config config_{};
  std::uint64_t key_ = 0;
};

} // namespace heaptape
