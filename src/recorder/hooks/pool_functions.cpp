#include "recorder/hooks/pool_functions.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <initializer_list>

#include "recorder/core/recorder.h"
#include "recorder/hooks/environment.h"
#include "recorder/hooks/hook.h"
#include "recorder/hooks/pool_names.h"
#include "recorder/hooks/pool_objects.h"

namespace heaptape::recorder {

constinit PoolCall g_pool_calls[kPoolCalls];

namespace {

constexpr std::size_t kMostFunctions = 32;
constexpr std::size_t kMostDefinitions = 8; // of one function, by different objects
constexpr std::size_t kTextBytes = 8192;

// What the scan knows of a name.
struct Wanted {
  const char* name = nullptr;
  PoolFunction* function = nullptr; // null: one of the loader's
  std::uint64_t stub = 0;           // and what then stands before it
  std::uint64_t* behind = nullptr;
  bool found = false; // calls of it are hooked
  std::size_t definition_count = 0;
  std::uint64_t definitions[kMostDefinitions] = {};
};

constinit char g_text[kTextBytes];
constinit std::size_t g_text_used = 0;
constinit PoolFunction g_functions[kMostFunctions];
constinit std::size_t g_function_count = 0;
constinit Wanted g_wanted[kMostFunctions + 3];
constinit std::size_t g_wanted_count = 0;
constinit std::size_t g_call_count = 0;
constinit std::atomic<bool> g_scanning{false};
constinit std::uint64_t g_scanned_loads = 0; // how many objects had ever been loaded at the last scan
constinit bool g_first_scan = true;

// The list without its separators, as texts one behind the other; null when there is no room.
char* copy_text(const char* text) noexcept {
  const std::size_t size = std::strlen(text) + 1;
  if (size > kTextBytes - g_text_used) return nullptr;
  char* copy = g_text + g_text_used;
  std::memcpy(copy, text, size);
  g_text_used += size;
  return copy;
}

// Ends the text at the next `stop` and gives what follows; null: there is none.
char* cut(char* text, char stop) noexcept {
  for (; *text != '\0'; ++text) {
    if (*text != stop) continue;
    *text = '\0';
    return text + 1;
  }
  return nullptr;
}

unsigned argument_number(const char* text, unsigned otherwise) noexcept {
  return text != nullptr && *text >= '0' && *text <= '6' ? static_cast<unsigned>(*text - '0') : otherwise;
}

PoolFunction* function_called(const char* name) noexcept {
  for (std::size_t i = 0; i < g_function_count; ++i) {
    if (std::strcmp(g_functions[i].name, name) == 0) return &g_functions[i];
  }
  if (g_function_count == kMostFunctions || *name == '\0') return nullptr;
  PoolFunction& function = g_functions[g_function_count++];
  function.name = name;
  return &function;
}

// NAME[:size[:count]][=POOL], NAME[:pointer]; separated by commas.
void read_list(char* list, bool allocates) noexcept {
  while (list != nullptr) {
    char* const next = cut(list, ',');
    char* const pool = allocates ? cut(list, '=') : nullptr;
    char* const first = cut(list, ':');
    char* const second = first != nullptr ? cut(first, ':') : nullptr;
    if (PoolFunction* function = function_called(list); function != nullptr) {
      if (allocates) {
        function->pool = pool != nullptr ? pool : function->name;
        function->size_argument = argument_number(first, 1);
        function->count_argument = argument_number(second, 0);
      } else {
        function->freed_argument = argument_number(first, 1);
      }
    }
    list = next;
  }
}

// The stub that calls this definition of the function; 0 when there are none left.
std::uint64_t stub_for(PoolFunction& function, std::uint64_t real) noexcept {
  for (std::size_t i = 0; i < g_call_count; ++i) {
    if (g_pool_calls[i].function == &function && g_pool_calls[i].real.load(std::memory_order_relaxed) == real)
      return stub_address(i);
  }
  if (g_call_count == kPoolCalls) return 0;
  PoolCall& call = g_pool_calls[g_call_count];
  call.function = &function;
  call.real.store(real, std::memory_order_release);
  return stub_address(g_call_count++);
}

std::uint64_t stub_for(Wanted& wanted, std::uint64_t real) noexcept {
  if (wanted.function != nullptr) return stub_for(*wanted.function, real);
  if (*wanted.behind == 0) *wanted.behind = real;
  return *wanted.behind == real ? wanted.stub : 0;
}

Wanted* wanted_called(const char* name) noexcept {
  for (std::size_t i = 0; i < g_wanted_count; ++i) {
    if (std::strcmp(g_wanted[i].name, name) == 0) return &g_wanted[i];
  }
  return nullptr;
}

// Ourselves, the loader and the kernel's object call none of them.
bool is_left_out(const dl_phdr_info& info, const LoadedObject& object) noexcept {
  const auto own = reinterpret_cast<std::uint64_t>(&g_pool_calls);
  if (own >= object.begin && own < object.end) return true;
  if (info.dlpi_name == nullptr) return false;
  const char* slash = std::strrchr(info.dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info.dlpi_name;
  return std::strncmp(name, "ld-linux", 8) == 0 || std::strncmp(name, "linux-vdso", 10) == 0;
}

int find_definitions(dl_phdr_info* info, std::size_t, void*) noexcept {
  LoadedObject object;
  if (!read_object(*info, object) || is_left_out(*info, object)) return 0;
  for (std::size_t i = 0; i < g_wanted_count; ++i) {
    Wanted& wanted = g_wanted[i];
    if (wanted.definition_count == kMostDefinitions) continue;
    if (const std::uint64_t address = find_definition(object, wanted.name); address != 0)
      wanted.definitions[wanted.definition_count++] = address;
  }
  return 0;
}

// The definition that a call through this place reaches; 0 when that cannot be told.
std::uint64_t definition_behind(const LoadedObject& object, const Wanted& wanted, std::uint64_t value,
                                bool is_jump) noexcept {
  for (std::size_t i = 0; i < wanted.definition_count; ++i) {
    if (wanted.definitions[i] == value) return value;
  }
  // Not looked up yet, so it leads back into its own object. At start-up the first definition is the one that will be found; later, objects
  // may have scopes of their own.
  const bool is_pending = is_jump && value >= object.begin && value < object.end;
  const bool is_certain = wanted.definition_count == 1 || (wanted.definition_count > 1 && g_first_scan);
  return is_pending && is_certain ? wanted.definitions[0] : 0;
}

int lead_here(dl_phdr_info* info, std::size_t, void*) noexcept {
  LoadedObject object;
  if (!read_object(*info, object) || is_left_out(*info, object)) return 0;
  each_slot(object, [&](const char* name, std::uint64_t* slot, bool is_jump) {
    Wanted* wanted = wanted_called(name);
    if (wanted == nullptr || is_stub(*slot)) return;
    const std::uint64_t real = definition_behind(object, *wanted, *slot, is_jump);
    const std::uint64_t stub = real != 0 ? stub_for(*wanted, real) : 0;
    if (stub != 0 && store_slot(object, slot, stub)) wanted->found = true;
  });
  return 0;
}

int count_loads(dl_phdr_info* info, std::size_t, void* loads) noexcept {
  *static_cast<std::uint64_t*>(loads) = info->dlpi_adds;
  return 1;
}

[[gnu::noinline]] void announce(const char* name) noexcept {
  send_name(name, wire::PoolNameKind::Hooked, 0, HT_CALL_SITE());
}

// Leaves out what is patched already. Only one thread scans; the others need not wait for it.
void scan() noexcept {
  if (g_scanning.exchange(true, std::memory_order_acquire)) return;
  std::uint64_t loads = 0;
  (void)dl_iterate_phdr(count_loads, &loads);
  if (loads != g_scanned_loads) {
    g_scanned_loads = loads;
    bool known[kMostFunctions + 3];
    for (std::size_t i = 0; i < g_wanted_count; ++i) {
      known[i] = g_wanted[i].found;
      g_wanted[i].definition_count = 0;
    }
    (void)dl_iterate_phdr(find_definitions, nullptr);
    (void)dl_iterate_phdr(lead_here, nullptr);
    g_first_scan = false;
    for (std::size_t i = 0; i < g_wanted_count; ++i) {
      if (g_wanted[i].found && !known[i] && g_wanted[i].function != nullptr && is_recording())
        announce(g_wanted[i].name);
    }
  }
  g_scanning.store(false, std::memory_order_release);
}

void want(const char* name, PoolFunction* function, void (*stub)(), std::uint64_t* behind) noexcept {
  Wanted& wanted = g_wanted[g_wanted_count++];
  wanted.name = name;
  wanted.function = function;
  wanted.stub = reinterpret_cast<std::uint64_t>(stub);
  wanted.behind = behind;
}

} // namespace

void read_pool_functions(char** environment) noexcept {
  for (const bool allocates : {true, false}) {
    const char* text = find_variable(environment, allocates ? "HEAPTAPE_ALLOC_FN" : "HEAPTAPE_FREE_FN");
    if (text != nullptr) read_list(copy_text(text), allocates);
  }
}

void hook_pool_functions() noexcept {
  if (g_function_count == 0) return;
  for (std::size_t i = 0; i < g_function_count; ++i) want(g_functions[i].name, &g_functions[i], nullptr, nullptr);
  want("dlopen", nullptr, heaptape_stub_dlopen, &heaptape_behind_dlopen);
  want("dlsym", nullptr, heaptape_stub_dlsym, &heaptape_behind_dlsym);
  want("dlvsym", nullptr, heaptape_stub_dlvsym, &heaptape_behind_dlvsym);
  scan();
}

void hook_pool_functions_again() noexcept {
  for (std::size_t i = 0; i < g_function_count; ++i) {
    g_functions[i].pool_number.store(0, std::memory_order_relaxed);
    if (g_wanted[i].found) announce(g_wanted[i].name);
  }
}

// Before each call of dlopen, dlsym and dlvsym: something may have been loaded since the last time.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void heaptape_look_for_objects() {
  if (is_recording()) scan();
}

} // namespace heaptape::recorder
