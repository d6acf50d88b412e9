#include "live/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/system_error.h"

namespace heaptape {

Result<LogFile> LogFile::create(const std::string& path, const Limits& limits) {
  LogFile log(path, limits);
  struct stat facts {};
  struct stat target {};
  const bool there = ::lstat(path.c_str(), &facts) == 0;
  // /dev/stderr is a link, too.
  if (there && S_ISLNK(facts.st_mode)) {
    if (::stat(path.c_str(), &target) != 0 || S_ISREG(target.st_mode))
      return Error{ErrorCode::Usage,
                   "cannot create the log '" + path + "': it is a symbolic link; name the file itself"};
    facts = target;
  }
  if (there && S_ISDIR(facts.st_mode))
    return Error{ErrorCode::Usage, "cannot create the log '" + path + "': it is a folder; name a file in it"};
  if (there) {
    log.rotates_ = S_ISREG(facts.st_mode);
    if (log.rotates_ && facts.st_size != 0) log.move_older();
  }
  if (const Result<> opened = log.open(); !opened) return opened.error();
  return log;
}

Result<> LogFile::open() {
  const int flags = rotates_ ? O_WRONLY | O_CREAT | O_NOFOLLOW : O_WRONLY;
  fd_.reset(::open(path_.c_str(), flags | O_NONBLOCK | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600));
  bytes_ = 0;
  struct stat facts {};
  if (fd_ && rotates_ && (::fstat(fd_.get(), &facts) != 0 || !S_ISREG(facts.st_mode))) {
    fd_.reset(); // something else has taken its place
    errno = EEXIST;
  }
  if (fd_ && rotates_ && facts.st_size != 0 && ::ftruncate(fd_.get(), 0) != 0) fd_.reset();
  if (fd_) return Unit{};
  const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::NotFound : ErrorCode::Denied;
  return Error{code, "cannot create the log '" + path_ + "': " + system_message(errno)};
}

void LogFile::move_older() {
  const auto numbered = [&](std::uint32_t number) { return path_ + "." + std::to_string(number); };
  if (limits_.keep == 0) return; // it is overwritten
  std::uint32_t last = 1;
  while (last < limits_.keep && ::access(numbered(last).c_str(), F_OK) == 0) ++last;
  for (; last > 1; --last) ::rename(numbered(last - 1).c_str(), numbered(last).c_str());
  ::rename(path_.c_str(), numbered(1).c_str());
}

Result<> LogFile::next() {
  move_older();
  return open();
}

Result<> LogFile::write(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd_.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int reason = errno;
      if (rotates_) (void)!::ftruncate(fd_.get(), static_cast<off_t>(bytes_));
      return Error{ErrorCode::Io, "cannot write the log '" + path_ + "': " + system_message(reason)};
    }
    done += static_cast<std::size_t>(wrote);
  }
  bytes_ += text.size();
  return Unit{};
}

void LogFile::remove() {
  if (rotates_ && fd_) ::unlink(path_.c_str());
  fd_.reset();
}

} // namespace heaptape
