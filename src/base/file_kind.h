// What a file is when it is not a regular one, in the user's words.
#pragma once

#include <sys/stat.h>

namespace heaptape {

inline const char* file_kind_text(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a regular file";
}

} // namespace heaptape
