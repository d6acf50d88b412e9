#include "symbols/debuginfod.h"

#ifdef HEAPTAPE_STATIC
// A program without a loader cannot load the library.
namespace heaptape {
std::optional<std::string> debuginfod_debug_file(std::span<const std::uint8_t>) { return std::nullopt; }
} // namespace heaptape
#else

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace heaptape {

namespace {

// The library brings curl and TLS with it, so it is loaded only when servers are configured, not at every start.
struct Library {
  using Client = void*;
  Client (*begin)() = nullptr;
  void (*end)(Client) = nullptr;
  int (*find_debuginfo)(Client, const unsigned char* build_id, int size, char** path) = nullptr;

  bool whole() const { return begin != nullptr && end != nullptr && find_debuginfo != nullptr; }
};

Library load_library() {
  Library library;
  void* handle = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return library;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
  };
  load(library.begin, "debuginfod_begin");
  load(library.end, "debuginfod_end");
  load(library.find_debuginfo, "debuginfod_find_debuginfo");
  return library;
}

bool is_configured() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  return urls != nullptr && std::string_view(urls).find_first_not_of(' ') != std::string_view::npos;
}

} // namespace

std::optional<std::string> debuginfod_debug_file(std::span<const std::uint8_t> build_id) {
  if (build_id.empty() || !is_configured()) return std::nullopt;
  static const Library library = load_library();
  if (!library.whole()) return std::nullopt;
  const Library::Client client = library.begin();
  if (client == nullptr) return std::nullopt;
  char* path = nullptr;
  const int fd = library.find_debuginfo(client, build_id.data(), static_cast<int>(build_id.size()), &path);
  library.end(client);
  const std::unique_ptr<char, decltype(&std::free)> owned(path, &std::free);
  if (fd < 0) return std::nullopt;
  ::close(fd);
  if (path == nullptr) return std::nullopt;
  return std::string(path);
}

} // namespace heaptape

#endif
