#include "base/output_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace heaptape {

bool same_file(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

namespace {

Error error_of(const char* doing, const std::string& path) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::NotFound : errno == EACCES ? ErrorCode::Denied : ErrorCode::Io;
  return {code, std::string("cannot ") + doing + " " + path + ": " + std::strerror(errno)};
}

Error exists(const std::string& path) {
  return {ErrorCode::Exists, path + " exists; choose another name, or overwrite it with --force"};
}

} // namespace

OutputFile::OutputFile(MakeFile options, std::string temporary, UniqueFd fd)
    : options_(std::move(options)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : options_(std::move(other.options_)), temporary_(std::exchange(other.temporary_, {})), fd_(std::move(other.fd_)),
      reader_gone_(other.reader_gone_), ends_in_hole_(other.ends_in_hole_) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<OutputFile> OutputFile::create(const MakeFile& options) {
  if (options.path.empty() || options.path == "-") return OutputFile(options, "", UniqueFd());
  struct stat status {};
  const bool there = ::stat(options.path.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode)) return Error{ErrorCode::Exists, options.path + " is a folder; give a file"};
  if (there && !S_ISREG(status.st_mode)) {
    // A device or a pipe: nothing to overwrite, and never to be replaced.
    UniqueFd device(::open(options.path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!device) return error_of("open", options.path);
    return OutputFile(options, "", std::move(device));
  }
  if (there && !options.overwrite) return exists(options.path);
  std::string temporary = options.path + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return error_of("create", options.path);
  // mkostemp() makes it the owner's alone. What is made to be handed on, the user's umask decides about.
  if (!options.owner_only) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(fd.get(), 0666 & ~mask);
  }
  return OutputFile(options, std::move(temporary), std::move(fd));
}

Result<OutputFile> OutputFile::create_unnamed() {
  const char* const wished = std::getenv("TMPDIR");
  // Not /tmp: it is memory on many machines.
  std::string path = std::string(wished != nullptr && wished[0] == '/' ? wished : "/var/tmp") + "/heaptape-XXXXXX";
  UniqueFd fd(::mkostemp(path.data(), O_CLOEXEC));
  if (!fd) return error_of("create", path);
  ::unlink(path.c_str());
  return OutputFile({.path = std::move(path), .owner_only = true}, "", std::move(fd));
}

UniqueFd OutputFile::take_to_hand_on() {
  ::fcntl(fd_.get(), F_SETFD, 0);
  return std::move(fd_);
}

bool OutputFile::is_terminal() const { return ::isatty(fd_ ? fd_.get() : STDOUT_FILENO) == 1; }

Result<> OutputFile::write(std::string_view bytes) {
  const int fd = fd_ ? fd_.get() : STDOUT_FILENO;
  if (!bytes.empty()) ends_in_hole_ = false;
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno != EINTR) {
      reader_gone_ = errno == EPIPE;
      return error_of("write to", fd_ ? options_.path : "standard output");
    }
  }
  return Unit{};
}

bool OutputFile::takes_holes() const {
  const int fd = fd_ ? fd_.get() : STDOUT_FILENO;
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (::fcntl(fd, F_GETFL) & O_APPEND) == 0;
}

Result<> OutputFile::write_zeros(std::uint64_t count) {
  const int fd = fd_ ? fd_.get() : STDOUT_FILENO;
  if (takes_holes()) {
    if (count == 0) return Unit{};
    if (count > std::numeric_limits<off_t>::max() || ::lseek(fd, static_cast<off_t>(count), SEEK_CUR) < 0) {
      errno = EFBIG;
      return error_of("write to", fd_ ? options_.path : "standard output");
    }
    ends_in_hole_ = true;
    return Unit{};
  }
  static constexpr char kZeros[std::size_t{1} << 16] = {};
  while (count != 0) {
    const std::size_t size = std::min<std::uint64_t>(count, sizeof kZeros);
    if (Result<> written = write({kZeros, size}); !written) return written;
    count -= size;
  }
  return Unit{};
}

Result<> OutputFile::fill_hole() {
  if (!std::exchange(ends_in_hole_, false)) return Unit{};
  const int fd = fd_ ? fd_.get() : STDOUT_FILENO;
  const off_t end = ::lseek(fd, 0, SEEK_CUR);
  struct stat status {};
  if (end < 0 || ::fstat(fd, &status) != 0 || (status.st_size < end && ::ftruncate(fd, end) != 0))
    return error_of("write to", fd_ ? options_.path : "standard output");
  return Unit{};
}

Result<> OutputFile::keep() {
  if (Result<> filled = fill_hole(); !filled) return filled;
  if (temporary_.empty()) return Unit{};
  // Another process may have made a file of that name meanwhile.
  const unsigned flags = options_.overwrite ? 0 : RENAME_NOREPLACE;
  int renamed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, options_.path.c_str(), flags);
  // Some network file systems cannot do it in one step.
  if (renamed != 0 && errno == EINVAL) renamed = ::rename(temporary_.c_str(), options_.path.c_str());
  if (renamed != 0) return errno == EEXIST ? exists(options_.path) : error_of("create", options_.path);
  temporary_.clear();
  return Unit{};
}

} // namespace heaptape
