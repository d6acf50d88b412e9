// Result<T>: a value, or an Error that can be shown to the user as one sentence. We never throw.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace heaptape {

enum class ErrorCode {
  NotFound,    // a file, program or process that is not there
  Denied,      // no permission
  Exists,      // would overwrite
  NotATape,    // foreign or empty file
  BadVersion,  // written by a newer heaptape
  BadChecksum, // damaged bytes
  Malformed,   // bytes that make no sense although the checksum holds
  Io,          // read or write failed, disk full
  Unsupported, // cannot be done here
  Usage,       // wrong options
  Stopped,     // the user asked for the end
  Exhausted,   // descriptors, memory or processes that the system does not give any more
};

struct Error {
  ErrorCode code = ErrorCode::Io;
  std::uint64_t offset = 0; // in the file, where that makes sense
  std::string sentence;     // for the user; names the file and what to do

  Error(ErrorCode error_code, std::string text) : code(error_code), sentence(std::move(text)) {}
  Error(ErrorCode error_code, std::uint64_t file_offset, std::string text)
      : code(error_code), offset(file_offset), sentence(std::move(text)) {}
};

struct Unit {};

template <class T = Unit>
class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    HT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    HT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    HT_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const Error& error() const {
    HT_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

private:
  std::variant<T, Error> state_;
};

} // namespace heaptape
