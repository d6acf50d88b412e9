#include "recorder/hooks/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "recorder/core/machine.h"

namespace heaptape::recorder {

namespace {

constexpr std::size_t kPathBytes = 4096;
constexpr std::size_t kFirstLine = 256;     // the kernel looks no further into a script either
constexpr int kMostInterpreters = 5;        // as the kernel allows
constexpr std::uint32_t kMostSegments = 64; // a program has about a dozen

// Reads exactly `size` bytes at `offset`; false when there are fewer.
bool read_at(int fd, std::uint64_t offset, void* bytes, std::size_t size) noexcept {
  return system_call(SYS_pread64, fd, reinterpret_cast<long>(bytes), static_cast<long>(size),
                     static_cast<long>(offset)) == static_cast<long>(size);
}

bool is_glibc_loader(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  for (const char* begin : {"ld-linux", "ld.so", "ld-2.", "ld64.so"}) {
    if (std::strncmp(name, begin, std::strlen(begin)) == 0) return true;
  }
  return false;
}

ProgramFit fit_of_elf(int fd, const char* ident) noexcept {
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) return ProgramFit::Foreign;
  Elf64_Ehdr header;
  if (!read_at(fd, 0, &header, sizeof header)) return ProgramFit::Missing;
  if (header.e_machine != EM_X86_64) return ProgramFit::Foreign;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return ProgramFit::Missing;
  const std::uint32_t count = header.e_phnum < kMostSegments ? header.e_phnum : kMostSegments;
  for (std::uint32_t i = 0; i < count; ++i) {
    Elf64_Phdr segment;
    if (!read_at(fd, header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return ProgramFit::Missing;
    if (segment.p_type != PT_INTERP) continue;
    char loader[kFirstLine];
    if (segment.p_filesz == 0 || segment.p_filesz > sizeof loader) return ProgramFit::Foreign;
    if (!read_at(fd, segment.p_offset, loader, segment.p_filesz)) return ProgramFit::Missing;
    loader[segment.p_filesz - 1] = 0;
    return is_glibc_loader(loader) ? ProgramFit::Fits : ProgramFit::Foreign;
  }
  return ProgramFit::Fits;
}

// The name behind "#!", cut off in place; null: there is none.
const char* interpreter_in(char* line, std::size_t size) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  std::size_t begin = 2;
  while (begin < size && is_blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < size && !is_blank(line[end]) && line[end] != '\n' && line[end] != 0) ++end;
  if (end == begin || end == kFirstLine) return nullptr;
  line[end] = 0;
  return line + begin;
}

// `first` is closed by its owner; the interpreters behind it are opened and closed here.
ProgramFit fit_of_open(int first) noexcept {
  ProgramFit fit = ProgramFit::Missing;
  int fd = first;
  for (int depth = 0; depth <= kMostInterpreters; ++depth) {
    char line[kFirstLine];
    const long got = system_call(SYS_pread64, fd, as_long(line), sizeof line, 0);
    const char* interpreter = nullptr;
    if (got >= EI_NIDENT && std::memcmp(line, ELFMAG, SELFMAG) == 0)
      fit = fit_of_elf(fd, line);
    else if (got > 2 && line[0] == '#' && line[1] == '!')
      interpreter = interpreter_in(line, static_cast<std::size_t>(got));
    if (fd != first) (void)system_call(SYS_close, fd);
    if (interpreter == nullptr) return fit;
    fd = static_cast<int>(system_call(SYS_openat, AT_FDCWD, as_long(interpreter), O_RDONLY | O_CLOEXEC));
    if (fd < 0) return fd == -EACCES ? ProgramFit::Unknown : ProgramFit::Missing;
  }
  if (fd != first) (void)system_call(SYS_close, fd);
  return fit;
}

bool can_be_executed(const char* path) noexcept {
  struct stat facts {};
  return system_call(SYS_newfstatat, AT_FDCWD, as_long(path), as_long(&facts), 0) == 0 && S_ISREG(facts.st_mode) &&
         system_call(SYS_faccessat, AT_FDCWD, as_long(path), X_OK) == 0;
}

} // namespace

ProgramFit fit_of_file(int directory, const char* path) noexcept {
  // Not to be held up by a pipe that nobody writes to.
  const auto fd =
      static_cast<int>(system_call(SYS_openat, directory, as_long(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -ENAMETOOLONG) return ProgramFit::Missing;
  if (fd < 0) return ProgramFit::Unknown;
  const ProgramFit fit = fit_of_open(fd);
  (void)system_call(SYS_close, fd);
  return fit;
}

ProgramFit fit_of_descriptor(int fd) noexcept {
  char byte = 0;
  if (system_call(SYS_pread64, fd, as_long(&byte), 1, 0) >= 0) return fit_of_open(fd);
  char path[32] = "/proc/self/fd/";
  std::size_t end = std::strlen(path);
  char digits[12];
  std::size_t count = 0;
  for (unsigned rest = fd < 0 ? 0 : static_cast<unsigned>(fd); count == 0 || rest != 0; rest /= 10)
    digits[count++] = static_cast<char>('0' + rest % 10);
  while (count != 0) path[end++] = digits[--count];
  path[end] = 0;
  const ProgramFit fit = fit_of_file(AT_FDCWD, path);
  return fit == ProgramFit::Missing ? ProgramFit::Unknown : fit; // /proc may not be there
}

ProgramFit fit_of_name(const char* name, const char* search_path) noexcept {
  if (std::strrchr(name, '/') != nullptr) return fit_of_file(AT_FDCWD, name);
  const std::size_t size = std::strlen(name);
  const char* folder = search_path != nullptr ? search_path : "/bin:/usr/bin";
  for (bool more = size != 0; more;) {
    std::size_t length = 0;
    while (folder[length] != 0 && folder[length] != ':') ++length;
    char candidate[kPathBytes];
    if (length + size + 2 <= sizeof candidate) {
      std::memcpy(candidate, folder, length);
      std::size_t end = length;
      if (length != 0) candidate[end++] = '/';
      std::memcpy(candidate + end, name, size + 1);
      if (can_be_executed(candidate)) return fit_of_file(AT_FDCWD, candidate);
    }
    more = folder[length] == ':';
    folder += length + 1;
  }
  return ProgramFit::Missing;
}

} // namespace heaptape::recorder
