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

// Not to be held up by a pipe that nobody writes to. A negative result is -errno.
int open_program(int directory, const char* path) noexcept {
  return static_cast<int>(
      system_call(SYS_openat, directory, as_long(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

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

// A sanitizer's library refuses to run when another one was loaded before it.
bool is_sanitizer(const char* library) noexcept {
  for (const char* begin : {"libasan.so", "libtsan.so", "libhwasan.so", "liblsan.so", "libclang_rt.asan",
                            "libclang_rt.tsan", "libclang_rt.hwasan", "libclang_rt.msan"}) {
    if (std::strncmp(library, begin, std::strlen(begin)) == 0) return true;
  }
  return false;
}

// The offset in the file of an address of the program's; 0: it is not in the file.
std::uint64_t offset_of(int fd, const Elf64_Ehdr& header, std::uint32_t count, std::uint64_t address) noexcept {
  for (std::uint32_t i = 0; i < count; ++i) {
    Elf64_Phdr segment;
    if (!read_at(fd, header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return 0;
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return 0;
}

// Looks at the names of the libraries that the program needs.
bool needs_sanitizer(int fd, const Elf64_Ehdr& header, std::uint32_t count, const Elf64_Phdr& dynamic) noexcept {
  constexpr std::uint64_t kMostEntries = 256;
  constexpr std::size_t kMostNeeded = 32;
  std::uint64_t needed[kMostNeeded];
  std::size_t found = 0;
  std::uint64_t strings = 0;
  const std::uint64_t entries = dynamic.p_filesz / sizeof(Elf64_Dyn);
  for (std::uint64_t i = 0; i < entries && i < kMostEntries; ++i) {
    Elf64_Dyn entry;
    if (!read_at(fd, dynamic.p_offset + i * sizeof entry, &entry, sizeof entry) || entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED && found < kMostNeeded) needed[found++] = entry.d_un.d_val;
    if (entry.d_tag == DT_STRTAB) strings = offset_of(fd, header, count, entry.d_un.d_ptr);
  }
  for (std::size_t i = 0; strings != 0 && i < found; ++i) {
    char name[32] = {};
    if (read_at(fd, strings + needed[i], name, sizeof name - 1) && is_sanitizer(name)) return true;
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
  bool has_loader = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    Elf64_Phdr segment;
    if (!read_at(fd, header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return ProgramFit::Missing;
    if (segment.p_type == PT_DYNAMIC && needs_sanitizer(fd, header, count, segment)) return ProgramFit::Foreign;
    if (segment.p_type != PT_INTERP) continue;
    char loader[kFirstLine];
    if (segment.p_filesz == 0 || segment.p_filesz > sizeof loader) return ProgramFit::Foreign;
    if (!read_at(fd, segment.p_offset, loader, segment.p_filesz)) return ProgramFit::Missing;
    loader[segment.p_filesz - 1] = 0;
    if (!is_glibc_loader(loader)) return ProgramFit::Foreign;
    has_loader = true;
  }
  return has_loader ? ProgramFit::Fits : ProgramFit::Static;
}

// As the kernel decides it, without the cases in which it then grants nothing (no_new_privs, mounts without them).
bool gains_rights(int fd) noexcept {
  struct stat facts {};
  if (system_call(SYS_fstat, fd, as_long(&facts)) != 0) return false;
  if ((facts.st_mode & S_ISUID) != 0 && facts.st_uid != static_cast<uid_t>(system_call(SYS_geteuid))) return true;
  constexpr mode_t kAsGroup = S_ISGID | S_IXGRP;
  if ((facts.st_mode & kAsGroup) == kAsGroup && facts.st_gid != static_cast<gid_t>(system_call(SYS_getegid)))
    return true;
  return system_call(SYS_geteuid) != 0 && system_call(SYS_fgetxattr, fd, as_long("security.capability"), 0, 0) > 0;
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
      fit = gains_rights(fd) ? ProgramFit::Secure : fit_of_elf(fd, line);
    else if (got > 2 && line[0] == '#' && line[1] == '!')
      interpreter = interpreter_in(line, static_cast<std::size_t>(got));
    if (fd != first) (void)system_call(SYS_close, fd);
    if (interpreter == nullptr) return fit;
    fd = open_program(AT_FDCWD, interpreter);
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
  const int fd = open_program(directory, path);
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
