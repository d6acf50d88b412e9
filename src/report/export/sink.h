// Where an export goes: text or bytes, buffered, compressed on the way if asked for. The first failure is kept and
// everything after it dropped, so that writers need not look after each piece. One thread at a time.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/format_into.h"
#include "base/result.h"
#include "report/text/json_text.h"

namespace heaptape {

// Takes the next bytes of the file.
using WriteBytes = std::function<Result<>(std::string_view bytes)>;

enum class Packing : std::uint8_t { Plain, Gzip, Zstd };

class Sink {
public:
  explicit Sink(WriteBytes write, Packing packing = Packing::Plain);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink();

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    format_into(buffer_, format, std::forward<Args>(args)...);
    write_if_full();
  }
  void add(std::string_view text) {
    buffer_.append(text.data(), text.data() + text.size());
    write_if_full();
  }
  // The text as a JSON string, quotes included.
  void json(std::string_view text) {
    append_json_string(buffer_, text);
    write_if_full();
  }

  // Something could not be written; a caller with much left to do may stop.
  bool failed() const { return !state_.ok(); }
  // Writes what is left and says how all went. Nothing may follow.
  Result<> finish();

private:
  class Packer;
  class GzipPacker;
  class ZstdPacker;
  static constexpr std::size_t kFullBytes = std::size_t{128} << 10;

  void write_if_full() {
    if (buffer_.size() >= kFullBytes) flush(false);
  }
  void flush(bool last);

  WriteBytes write_;
  std::unique_ptr<Packer> packer_; // null: plain
  fmt::memory_buffer buffer_;
  Result<> state_ = Unit{};
};

} // namespace heaptape
