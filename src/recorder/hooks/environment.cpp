#include "recorder/hooks/environment.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstring>

#include "recorder/core/machine.h"

extern "C" void* __libc_stack_end;

namespace heaptape::recorder {

namespace {

bool begins(const char* text, const char* begin) noexcept { return std::strncmp(text, begin, std::strlen(begin)) == 0; }

bool is_separator(char c) noexcept { return c == ':' || c == ' '; }

// The offset of `library` in "LD_PRELOAD=a:b:c"; 0: it is not there.
std::size_t find_in_preload(const char* variable, const char* library) noexcept {
  const std::size_t size = std::strlen(library);
  for (const char* at = variable + std::strlen("LD_PRELOAD="); *at != 0;) {
    const char* end = at;
    while (*end != 0 && !is_separator(*end)) ++end;
    if (static_cast<std::size_t>(end - at) == size && std::strncmp(at, library, size) == 0)
      return static_cast<std::size_t>(at - variable);
    at = is_separator(*end) ? end + 1 : end;
  }
  return 0;
}

// Removes `library` from the list in "LD_PRELOAD=a:b:c", in place. False when nothing is left.
bool remove_from_preload(char* variable, const char* library) noexcept {
  char* const list = variable + std::strlen("LD_PRELOAD=");
  if (const std::size_t offset = find_in_preload(variable, library); offset != 0) {
    char* at = variable + offset;
    char* end = at + std::strlen(library);
    if (is_separator(*end)) {
      ++end;
    } else if (at > list) {
      --at; // the separator before the last entry
    }
    std::memmove(at, end, std::strlen(end) + 1);
  }
  return *list != 0;
}

// The variable without a value, in place. One of ours becomes HEAPTAPE_=, for some of ours mean something when they are empty.
char* made_empty(char* variable) noexcept {
  constexpr std::size_t kName = sizeof "HEAPTAPE_" - 1;
  if (std::strlen(variable) > kName && begins(variable, "HEAPTAPE_")) std::memcpy(variable + kName, "=", sizeof "=");
  return variable; // of LD_PRELOAD nothing but the name is left already
}

} // namespace

char** initial_environment() noexcept {
  // The kernel leaves argc, argv and the environment at the stack's very beginning.
  auto* words = static_cast<std::uint64_t*>(__libc_stack_end);
  return reinterpret_cast<char**>(words + words[0] + 2);
}

const char* find_variable(char** environment, const char* name) noexcept {
  const std::size_t size = std::strlen(name);
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, size) == 0 && (*environment)[size] == '=') return *environment + size + 1;
  }
  return nullptr;
}

// The kernel puts the auxiliary vector behind the environment's null, and some look for it there (Go's runtime does). The null moves
// down by the entries that go, so what is left between the two must read as a part of that vector, which comes in pairs of words:
//
//   before   A  LD_PRELOAD  B  HEAPTAPE_OUTPUT  null                                 AT_PAGESZ 4096 ...
//   after    A  B           null                AT_IGNORE  0                         AT_PAGESZ 4096 ...
//
// So an even number of entries must go. The launcher sees to that; where a user set an odd number by hand, one stays as an empty
// variable that means nothing to anybody.
void restore_environment(char** environment, const char* library, bool keep_options) noexcept {
  char** kept = environment;
  char** at = environment;
  char* last_taken = nullptr;
  for (; *at != nullptr; ++at) {
    bool keep = true;
    if (begins(*at, "HEAPTAPE_")) keep = keep_options && !begins(*at, "HEAPTAPE_SHM_");
    if (begins(*at, "HEAPTAPE_CHECKPOINT=")) keep = true; // the program's own: its check points look there
    if (begins(*at, "LD_PRELOAD=") && !keep_options) keep = remove_from_preload(*at, library);
    if (keep)
      *kept++ = *at;
    else
      last_taken = *at;
  }
  if ((at - kept) % 2 != 0) *kept++ = made_empty(last_taken);
  char** const end = at + 1;
  *kept++ = nullptr;
  for (; kept != end; kept += 2) {
    kept[0] = reinterpret_cast<char*>(std::uintptr_t{AT_IGNORE});
    kept[1] = nullptr;
  }
}

const char* preload_entry(char* const* environment) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (begins(*environment, "LD_PRELOAD=")) return *environment;
  }
  return nullptr;
}

bool has_recorder(char* const* environment, const char* library) noexcept {
  const char* entry = preload_entry(environment);
  return entry != nullptr && find_in_preload(entry, library) != 0;
}

std::size_t count_variables(char* const* environment) noexcept {
  std::size_t count = 0;
  while (environment[count] != nullptr) ++count;
  return count;
}

void copy_without_recorder(char* const* environment, const char* library, char** copy, char* preload) noexcept {
  const char* const entry = preload_entry(environment);
  for (; *environment != nullptr; ++environment) {
    if (begins(*environment, "HEAPTAPE_") && !begins(*environment, "HEAPTAPE_CHECKPOINT=")) continue;
    if (*environment == entry) {
      std::memcpy(preload, entry, std::strlen(entry) + 1);
      if (remove_from_preload(preload, library)) *copy++ = preload;
    } else {
      *copy++ = *environment;
    }
  }
  *copy = nullptr;
}

namespace {

bool is_programs_own(const char* variable) noexcept {
  return !begins(variable, "HEAPTAPE_") || begins(variable, "HEAPTAPE_CHECKPOINT=");
}

} // namespace

std::size_t count_with_recorder(char* const* environment, const PassedOn& passed) noexcept {
  constexpr std::size_t kOurs = 4; // LD_PRELOAD, the connection, a pad, the null
  return (environment != nullptr ? count_variables(environment) : 0) +
         (passed.options != nullptr ? count_variables(passed.options) : 0) + kOurs;
}

std::size_t preload_bytes(char* const* environment, const PassedOn& passed) noexcept {
  const char* const theirs = preload_entry(environment);
  return sizeof "LD_PRELOAD=:" + std::strlen(passed.library) + (theirs != nullptr ? std::strlen(theirs) : 0);
}

void copy_with_recorder(char* const* environment, const PassedOn& passed, char** copy, char* preload) noexcept {
  constexpr std::size_t kName = sizeof "LD_PRELOAD=" - 1;
  const char* const theirs = preload_entry(environment);
  const bool has_theirs = theirs != nullptr && theirs[kName] != 0;
  if (has_theirs && find_in_preload(theirs, passed.library) != 0) {
    std::memcpy(preload, theirs, std::strlen(theirs) + 1);
  } else {
    const std::size_t size = std::strlen(passed.library);
    std::memcpy(preload, "LD_PRELOAD=", kName);
    std::memcpy(preload + kName, passed.library, size + 1);
    if (has_theirs) {
      preload[kName + size] = ':';
      std::memcpy(preload + kName + size + 1, theirs + kName, std::strlen(theirs + kName) + 1);
    }
  }
  // As many as restore_environment() will take out.
  std::size_t taken = 0;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (!is_programs_own(*environment)) continue;
    *copy++ = *environment == theirs ? preload : *environment;
  }
  if (theirs == nullptr) *copy++ = preload;
  if (!has_theirs && !passed.keeps_options) ++taken;
  for (char** at = passed.options; at != nullptr && *at != nullptr; ++at) {
    if (is_programs_own(*at)) continue;
    *copy++ = *at;
    if (!passed.keeps_options) ++taken;
  }
  *copy++ = const_cast<char*>(passed.connection);
  ++taken;
  if (taken % 2 != 0) *copy++ = const_cast<char*>("HEAPTAPE_SHM_PAD=");
  *copy = nullptr;
}

char** copy_for_collector(char** environment) noexcept {
  constexpr const char* kWanted[] = {"HEAPTAPE_", "HOME=", "TZ=",   "LANG=", "LC_",
                                     "NO_COLOR=", "TERM=", "PATH=", "XDG_",  "DEBUGINFOD_"};
  const auto wanted = [&](const char* variable) {
    if (begins(variable, "HEAPTAPE_SHM_")) return false;
    for (const char* begin : kWanted) {
      if (begins(variable, begin)) return true;
    }
    return false;
  };
  std::size_t count = 1;
  std::size_t bytes = 0;
  for (char** at = environment; *at != nullptr; ++at) {
    if (!wanted(*at)) continue;
    ++count;
    bytes += std::strlen(*at) + 1;
  }
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(count * sizeof(char*) + bytes), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) return nullptr;
  auto** copy = reinterpret_cast<char**>(memory);
  auto* text = reinterpret_cast<char*>(copy + count);
  std::size_t place = 0;
  for (char** at = environment; *at != nullptr; ++at) {
    if (!wanted(*at)) continue;
    const std::size_t size = std::strlen(*at) + 1;
    std::memcpy(text, *at, size);
    copy[place++] = text;
    text += size;
  }
  copy[place] = nullptr;
  return copy;
}

} // namespace heaptape::recorder
