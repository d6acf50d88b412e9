#include "tape/create_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/file_kind.h"
#include "base/system_error.h"

namespace heaptape {

namespace {

Error refusal(ErrorCode code, const std::string& path, const std::string& why) {
  return {code, "cannot create the tape '" + path + "': " + why};
}

Error create_error(const std::string& path, int error) {
  switch (error) {
  case EEXIST:
    return refusal(ErrorCode::Exists, path,
                   "it already exists; choose another name with -o, or replace it with --force");
  case ENOENT:
    return refusal(ErrorCode::NotFound, path, "its folder does not exist; create it, or choose another with -o");
  case EACCES:
  case EPERM:
  case EROFS:
    return refusal(ErrorCode::Denied, path, system_message(error) + "; choose a place you may write to with -o");
  case EMFILE:
  case ENFILE: return refusal(ErrorCode::Exhausted, path, system_message(error));
  default: return refusal(ErrorCode::Io, path, system_message(error));
  }
}

Error odd_file(const std::string& path, mode_t mode) {
  const bool device = S_ISCHR(mode) || S_ISBLK(mode);
  return refusal(ErrorCode::Usage, path,
                 std::string("it is ") + file_kind_text(mode) + "; choose another name with -o" +
                     (device ? ", or record without a tape: --no-tape" : ""));
}

// Under another name first, so that the old file is replaced at once or not at all.
Result<UniqueFd> replace_file(const std::string& path) {
  std::string temporary = path + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC)); // mode 0600
  if (!fd) return create_error(path, errno);
  if (::rename(temporary.c_str(), path.c_str()) == 0) return fd;
  const int reason = errno;
  ::unlink(temporary.c_str());
  return create_error(path, reason);
}

} // namespace

Result<UniqueFd> create_tape_file(const std::string& path, bool overwrite) {
  struct stat status {};
  const bool there = ::lstat(path.c_str(), &status) == 0;
  if (there && !S_ISREG(status.st_mode)) return odd_file(path, status.st_mode);
  if (there && overwrite) return replace_file(path);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return create_error(path, errno);
  return fd;
}

} // namespace heaptape
