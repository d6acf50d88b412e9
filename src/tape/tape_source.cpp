#include "tape/tape_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/system_error.h"

namespace heaptape {

namespace {

Error open_error(const std::string& path, int error) {
  const std::string tape = "cannot open the tape '" + path + "': ";
  switch (error) {
  case ENOENT:
  case ENOTDIR: return {ErrorCode::NotFound, tape + "there is no such file; check the name"};
  case EACCES:
  case EPERM: return {ErrorCode::Denied, tape + "you may not read it; ask its owner, or read it as that user"};
  default: return {ErrorCode::Io, tape + system_message(error)};
  }
}

} // namespace

Result<TapeSource> TapeSource::open(const std::string& path) {
  // Without O_NONBLOCK, a named pipe would keep us waiting for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return open_error(path, errno);
  return adopt(std::move(fd), path);
}

Result<TapeSource> TapeSource::adopt(UniqueFd fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return open_error(path, errno);
  if (S_ISDIR(status.st_mode))
    return Error{ErrorCode::NotATape, "'" + path + "' is a directory, not a tape; give one of the tapes in it"};
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::NotATape, "'" + path + "' is not a regular file; copy the tape into a file first"};
  TapeSource source;
  source.fd_ = std::move(fd);
  source.size_ = static_cast<std::uint64_t>(status.st_size);
  return source;
}

TapeSource TapeSource::from_bytes(std::span<const std::byte> bytes) {
  TapeSource source;
  source.bytes_ = bytes;
  source.size_ = bytes.size();
  return source;
}

std::span<const std::byte> TapeSource::read(std::uint64_t offset, std::size_t size,
                                            std::vector<std::byte>& buffer) const {
  if (offset >= size_) return {};
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - offset));
  if (!fd_) return bytes_.subspan(static_cast<std::size_t>(offset), wanted);
  if (buffer.size() < wanted) buffer.resize(wanted);
  std::size_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(fd_.get(), buffer.data() + done, wanted - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return std::span(buffer).first(done);
}

} // namespace heaptape
