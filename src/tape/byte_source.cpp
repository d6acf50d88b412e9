#include "tape/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace heaptape {

Result<ByteSource> ByteSource::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return Error{ErrorCode::NotFound, path + ": no such tape"};
    if (errno == EACCES)
      return Error{ErrorCode::Denied, path + ": you may not read it (tapes are private to who recorded them)"};
    return Error{ErrorCode::Io, path + ": " + std::strerror(errno)};
  }
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) return Error{ErrorCode::Io, path + ": " + std::strerror(errno)};
  if (S_ISDIR(facts.st_mode)) return Error{ErrorCode::NotATape, path + " is a folder; name a tape in it"};
  if (!S_ISREG(facts.st_mode)) return Error{ErrorCode::NotATape, path + " is not a file; copy the tape to one first"};
  return ByteSource(std::move(fd), static_cast<std::uint64_t>(facts.st_size));
}

bool ByteSource::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset > size_ || into.size() > size_ - offset) return false;
  if (!fd_) {
    if (!into.empty()) std::memcpy(into.data(), memory_.data() + offset, into.size());
    return true;
  }
  while (!into.empty()) {
    const ssize_t size = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(size));
    offset += static_cast<std::uint64_t>(size);
  }
  return true;
}

} // namespace heaptape
