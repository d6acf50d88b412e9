#include "collector/launch/program_check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/path_text.h"
#include "base/unique_fd.h"
#include "collector/launch/program_search.h"

namespace heaptape {
namespace {

constexpr int kMaxInterpreters = 5; // as the kernel allows
constexpr const char* kUnrecorded = "; it runs unrecorded. ";

#if defined(__x86_64__)
constexpr std::uint16_t kOurMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kOurMachine = EM_AARCH64;
#endif

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
  case EM_386: return "x86";
  case EM_X86_64: return "x86-64";
  case EM_ARM: return "ARM";
  case EM_AARCH64: return "AArch64";
  case EM_RISCV: return "RISC-V";
  case EM_PPC64: return "PowerPC";
  case EM_S390: return "s390";
  default: return "processor " + std::to_string(machine);
  }
}

std::string sanitizer_option(const std::string& sanitizer) {
  if (sanitizer == "AddressSanitizer") return "-fsanitize=address";
  if (sanitizer == "ThreadSanitizer") return "-fsanitize=thread";
  if (sanitizer == "MemorySanitizer") return "-fsanitize=memory";
  if (sanitizer == "HWAddressSanitizer") return "-fsanitize=hwaddress";
  return "-fsanitize=leak";
}

bool is_glibc_loader(std::string_view path) {
  const std::string_view base = base_name(path);
  return base.starts_with("ld-linux") || base.starts_with("ld.so") || base.starts_with("ld-2.") ||
         base.starts_with("ld64.so");
}

ProgramCheck refuse(Obstacle obstacle, const std::string& what, const std::string& advice) {
  return {.obstacle = obstacle, .sentence = what + kUnrecorded + advice};
}

class MappedProgram {
public:
  explicit MappedProgram(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return;
    size_ = static_cast<std::size_t>(status.st_size);
    void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (mapped == MAP_FAILED)
      size_ = 0;
    else
      data_ = mapped;
  }
  ~MappedProgram() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  MappedProgram(const MappedProgram&) = delete;
  MappedProgram& operator=(const MappedProgram&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), std::free);
  return resolved ? std::string(resolved.get()) : path;
}

Privileges privileges_of(const std::string& path) {
  Privileges privileges;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return privileges;
  privileges.mode = status.st_mode;
  privileges.file_owner = status.st_uid;
  privileges.file_group = status.st_gid;
  privileges.our_user = ::getuid();
  privileges.our_group = ::getgid();
  privileges.has_capabilities = ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  struct statvfs mount {};
  privileges.ignored = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
                       (::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0);
  return privileges;
}

} // namespace

ProgramCheck judge(const std::string& name, const ElfFacts& facts) {
  if (!facts.is_64_bit || facts.machine != kOurMachine) {
    return refuse(Obstacle::OtherMachine,
                  name + " is a " + (facts.is_64_bit ? "64" : "32") + "-bit " + machine_name(facts.machine) +
                      " program, and this heaptape records only 64-bit " + machine_name(kOurMachine) + " ones",
                  "Build it for this machine to record it.");
  }
  // A loader started by hand ("ld-linux-x86-64.so.2 ./program") has no interpreter of its own and does preload.
  if (facts.interpreter.empty() && !is_glibc_loader(facts.soname)) {
    return refuse(Obstacle::Static, name + " is statically linked, so the recorder cannot be loaded into it",
                  facts.is_go
                      ? "Build it with 'CGO_ENABLED=1 go build -ldflags=-linkmode=external' to record what its C "
                        "code allocates; Go's own heap is for 'go tool pprof'."
                      : "Link it dynamically (without -static) to record it.");
  }
  if (!facts.interpreter.empty() && !is_glibc_loader(facts.interpreter)) {
    return refuse(Obstacle::ForeignLibc,
                  name + " uses the loader " + facts.interpreter + ", and the recorder is made for the GNU C library",
                  "Build it against glibc to record it.");
  }
  if (!facts.sanitizer.empty()) {
    return refuse(Obstacle::Sanitizer, name + " is built with " + facts.sanitizer + ", which replaces malloc itself",
                  "Build it without " + sanitizer_option(facts.sanitizer) + " to record it.");
  }
  if (facts.defines_malloc) {
    const std::string allocator = facts.allocator.empty() ? "a malloc of its own" : facts.allocator;
    const std::string advice = facts.allocator.empty()
                                   ? "Link it without that, or with it as a shared library, to record it."
                                   : "Link it with the shared " + facts.allocator + ", or with none, to record it.";
    return refuse(Obstacle::OwnAllocator,
                  name + " has " + allocator + " linked into the executable, where the recorder cannot see its calls",
                  advice);
  }
  return {};
}

ProgramCheck judge(const std::string& name, const Privileges& privileges) {
  if (privileges.ignored) return {};
  const bool as_user = (privileges.mode & S_ISUID) != 0 && privileges.file_owner != privileges.our_user;
  // Without group execute permission the bit means mandatory locking.
  const bool as_group =
      (privileges.mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && privileges.file_group != privileges.our_group;
  const bool capable = privileges.has_capabilities && privileges.our_user != 0;
  if (!as_user && !as_group && !capable) return {};
  const std::string what = as_user ? "is setuid" : as_group ? "is setgid" : "has file capabilities";
  return refuse(Obstacle::Privileged, name + " " + what + ", and the loader preloads nothing into such programs",
                privileges.our_user != 0 ? "Record it as root, or a copy of it that has no special rights."
                                         : "Record a copy of it that has no special rights.");
}

ProgramCheck judge_preload(const std::string& preload) {
  std::string_view rest = preload;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(": \t\n"), rest.size());
    const std::string sanitizer = sanitizer_of_library(std::string(rest.substr(0, end)));
    if (!sanitizer.empty()) {
      return refuse(Obstacle::Sanitizer, "LD_PRELOAD holds " + sanitizer + ", which replaces malloc itself",
                    "Take it out of LD_PRELOAD to record the program.");
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

ProgramCheck check_program(const std::string& name, const std::string& path) {
  std::string file = path;
  for (int depth = 0; depth < kMaxInterpreters; ++depth) {
    const MappedProgram mapped(file);
    const auto shebang = parse_shebang(mapped.bytes());
    // The kernel ignores a script's own setuid bit.
    if (shebang) {
      file = shebang->interpreter;
      continue;
    }
    const std::string who = depth == 0 ? name : name + "'s interpreter " + file;
    ProgramCheck check = judge(who, privileges_of(file));
    if (check.obstacle == Obstacle::None) {
      if (const Result<ElfFacts> facts = parse_elf_facts(mapped.bytes()); facts) check = judge(who, facts.value());
    }
    check.executable = real_path(file);
    return check;
  }
  return {};
}

std::string obstacle_of(const std::string& path) { return check_program(std::string(base_name(path)), path).sentence; }

} // namespace heaptape
