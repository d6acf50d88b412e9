#include "tape/appender.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/system_error.h"

namespace heaptape {

namespace {

Error refusal(ErrorCode code, const std::string& path, const std::string& why) {
  return {code, "cannot add to the tape '" + path + "': " + why};
}

Error open_error(const std::string& path, int error) {
  switch (error) {
  case ENOENT:
  case ENOTDIR: return refusal(ErrorCode::NotFound, path, "there is no such file; check the name");
  case EACCES:
  case EPERM:
  case EROFS:
  case ETXTBSY: return refusal(ErrorCode::Denied, path, system_message(error));
  default: return refusal(ErrorCode::Io, path, system_message(error));
  }
}

} // namespace

TapeAppender::TapeAppender(TapeReader tape, UniqueFd fd, std::string path)
    : tape_(std::move(tape)), fd_(fd.get()), chunks_(std::move(fd), std::move(path), tape_.append_offset()) {}

Result<TapeAppender> TapeAppender::open(const TapeToFinish& what) {
  const std::string& path = what.path;
  UniqueFd fd(what.fd >= 0 ? ::fcntl(what.fd, F_DUPFD_CLOEXEC, 0)
                           : ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return open_error(path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK
               ? refusal(ErrorCode::Exists, path, "another heaptape is adding to it; try again when that is done")
               : open_error(path, errno);
  // Read under the lock, so that no other process has added anything since.
  UniqueFd to_read(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!to_read) return open_error(path, errno);
  auto tape = TapeReader::adopt(std::move(to_read), path);
  if (!tape) return tape.error();
  if (tape.value().header().version_major == 0) return refusal(ErrorCode::Malformed, path, "its header is damaged");
  if (!tape.value().summary())
    return refusal(ErrorCode::Unsupported, path, "its recording was cut off, or is still running");
  return TapeAppender(std::move(tape).value(), std::move(fd), path);
}

Result<std::uint64_t> TapeAppender::add(format::ChunkType type, std::span<const std::byte> payload) {
  if (!cut_) {
    const auto end = static_cast<off_t>(tape_.append_offset());
    if ((tape_.append_offset() < tape_.file_bytes() && ::ftruncate(fd_, end) != 0) ||
        ::lseek(fd_, end, SEEK_SET) != end)
      return open_error(chunks_.path(), errno);
    cut_ = true;
  }
  const std::uint64_t offset = chunks_.end_offset();
  if (auto written = chunks_.write(type, payload); !written) return written.error();
  return offset;
}

void TapeAppender::undo() {
  // When this fails, what was added stays behind as parts that nothing refers to.
  if (cut_ && ::ftruncate(fd_, static_cast<off_t>(tape_.append_offset())) == 0) cut_ = false;
}

} // namespace heaptape
