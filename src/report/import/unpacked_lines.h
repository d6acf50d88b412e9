// The lines of a file that may be packed with gzip or zstd, recognized by its first bytes. Hostile input: lines have a
// limit, and a stream that breaks off is an Error. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape {

// Fills the room with the next bytes of the file and says how many; 0 at its end.
using ReadBytes = std::function<Result<std::size_t>(char* room, std::size_t size)>;

class UnpackedLines {
public:
  // `name` is for sentences.
  UnpackedLines(ReadBytes read, std::string name);
  UnpackedLines(const UnpackedLines&) = delete;
  UnpackedLines& operator=(const UnpackedLines&) = delete;
  ~UnpackedLines();

  // The next line without its end; nullopt at the end of the file. Valid until the next call.
  Result<std::optional<std::string_view>> next();
  std::uint64_t number() const { return number_; } // of the line given last, from 1

private:
  class Unpacker;
  class Plain;
  class Gzip;
  class Zstd;

  Result<> choose_unpacker();
  // Appends unpacked bytes to text_; ended_ at the end.
  Result<> fill();

  ReadBytes read_;
  std::string name_;
  std::unique_ptr<Unpacker> unpacker_;
  std::string packed_; // as read, not yet unpacked
  std::string text_;   // unpacked, from at_ on not yet given
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  bool read_all_ = false; // of the file
  bool ended_ = false;    // nothing more comes into text_
};

} // namespace heaptape
