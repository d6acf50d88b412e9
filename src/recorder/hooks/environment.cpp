#include "recorder/hooks/environment.h"

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

// Removes `library` from the list in "LD_PRELOAD=a:b:c", in place. False when nothing is left.
bool remove_from_preload(char* variable, const char* library) noexcept {
  char* const list = variable + std::strlen("LD_PRELOAD=");
  const std::size_t size = std::strlen(library);
  for (char* at = list; *at != 0;) {
    char* end = at;
    while (*end != 0 && !is_separator(*end)) ++end;
    if (static_cast<std::size_t>(end - at) == size && std::strncmp(at, library, size) == 0) {
      if (is_separator(*end)) {
        ++end;
      } else if (at > list) {
        --at; // the separator before the last entry
      }
      std::memmove(at, end, std::strlen(end) + 1);
      break;
    }
    at = is_separator(*end) ? end + 1 : end;
  }
  return *list != 0;
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

void restore_environment(char** environment, const char* library, bool keep_options) noexcept {
  char** kept = environment;
  for (char** at = environment; *at != nullptr; ++at) {
    bool keep = true;
    if (begins(*at, "HEAPTAPE_")) keep = keep_options && !begins(*at, "HEAPTAPE_SHM_");
    if (begins(*at, "HEAPTAPE_CHECKPOINT=")) keep = true; // the program's own: its check points look there
    if (begins(*at, "LD_PRELOAD=") && !keep_options) keep = remove_from_preload(*at, library);
    if (keep) *kept++ = *at;
  }
  *kept = nullptr;
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
