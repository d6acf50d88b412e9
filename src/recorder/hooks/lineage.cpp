#include "recorder/hooks/lineage.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstddef>
#include <cstring>

#include "recorder/core/machine.h"
#include "recorder/core/recorder.h"

namespace heaptape::recorder {

namespace {

struct Lineage {
  std::uint32_t pid = 0;
  bool follow_child = false;
  char tape[wire::kTapeNameBytes] = {};
  char door[sizeof "HEAPTAPE_SHM_DOOR=" + wire::kDoorBytes] = {};                    // empty: there is none
  char parent[sizeof "HEAPTAPE_SHM_PARENT=4294967295:" + wire::kTapeNameBytes] = {}; // for children
  char** options = nullptr;
  wire::Children* children = nullptr;
};

constinit Lineage g_lineage;
constinit thread_local wire::ChildEntry* t_forking = nullptr; // the entry of the child that this thread is making

std::uint32_t own_pid() noexcept { return static_cast<std::uint32_t>(system_call(SYS_getpid)); }

// Copies `text`, which may not be terminated, and terminates it.
char* append(char* at, const char* text, std::size_t most) noexcept {
  const std::size_t size = strnlen(text, most);
  std::memcpy(at, text, size);
  at[size] = 0;
  return at + size;
}

char* append_number(char* at, std::uint32_t number) noexcept {
  char digits[12];
  std::size_t count = 0;
  for (; count == 0 || number != 0; number /= 10) digits[count++] = static_cast<char>('0' + number % 10);
  while (count != 0) *at++ = digits[--count];
  *at = 0;
  return at;
}

// The entry of the process, or a new one; null: there is no room.
wire::ChildEntry* entry_of(std::uint32_t pid, bool find) noexcept {
  wire::Children* const children = g_lineage.children;
  if (children == nullptr) return nullptr;
  for (std::uint32_t i = 0; find && i < wire::kNotedChildren; ++i) {
    if (children->entries[i].pid.load(std::memory_order_relaxed) == pid) return &children->entries[i];
  }
  const std::uint32_t place = children->made.fetch_add(1, std::memory_order_relaxed);
  if (place >= wire::kNotedChildren) return nullptr;
  children->entries[place].pid.store(pid, std::memory_order_relaxed);
  return &children->entries[place];
}

void set_name(wire::ChildEntry& entry, const char* path) noexcept {
  const char* const slash = path != nullptr ? std::strrchr(path, '/') : nullptr;
  const char* const name = slash != nullptr ? slash + 1 : path != nullptr ? path : "";
  const std::size_t size = strnlen(name, sizeof entry.name);
  std::memset(entry.name, 0, sizeof entry.name);
  std::memcpy(entry.name, name, size);
}

} // namespace

void begin_lineage(const wire::Header& header, const Attached& attached, char** options) noexcept {
  if (g_lineage.children != nullptr)
    (void)system_call(SYS_munmap, as_long(g_lineage.children), static_cast<long>(wire::kPage));
  g_lineage.pid = own_pid();
  g_lineage.follow_child = header.follow_child != 0;
  (void)append(g_lineage.tape, header.tape, sizeof g_lineage.tape - 1);
  g_lineage.door[0] = 0;
  if (header.door[0] != 0)
    (void)append(append(g_lineage.door, "HEAPTAPE_SHM_DOOR=", sizeof "HEAPTAPE_SHM_DOOR="), header.door,
                 wire::kDoorBytes);
  char* at = append(g_lineage.parent, "HEAPTAPE_SHM_PARENT=", sizeof "HEAPTAPE_SHM_PARENT=");
  at = append_number(at, g_lineage.pid);
  (void)append(append(at, ":", 1), g_lineage.tape, sizeof g_lineage.tape);
  g_lineage.options = options;
  g_lineage.children = attached.children;
}

bool is_recorded_process() noexcept { return g_lineage.pid != 0 && own_pid() == g_lineage.pid; }

bool is_meant_child() noexcept {
  return g_lineage.follow_child && own_pid() != g_lineage.pid &&
         static_cast<std::uint32_t>(system_call(SYS_getppid)) == g_lineage.pid;
}

const char* connection_for_next() noexcept {
  if (g_lineage.pid == 0) return nullptr;
  const bool is_recorded = is_recorded_process();
  if (!is_recorded && !is_meant_child()) return g_lineage.parent;
  if (g_lineage.door[0] == 0) return nullptr;
  // Who asked the recording to stop does not want it to begin again.
  if (is_recorded &&
      (!is_attached() || g_recorder.header->collector_state.load(std::memory_order_relaxed) != wire::kCollectorAlive))
    return nullptr;
  return g_lineage.door;
}

const char* connection_for_child() noexcept { return g_lineage.pid != 0 ? g_lineage.parent : nullptr; }

char** options_for_next() noexcept { return g_lineage.options; }

Origin origin_of_fork() noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return {.started_by = wire::StartedBy::Fork,
          .parent = g_lineage.pid,
          .started_ns =
              static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec),
          .parent_tape = g_lineage.tape};
}

Origin origin_of_spawn(const char* parent) noexcept {
  std::uint32_t pid = 0;
  for (; *parent >= '0' && *parent <= '9'; ++parent) pid = pid * 10 + static_cast<std::uint32_t>(*parent - '0');
  return {.started_by = wire::StartedBy::Spawn, .parent = pid, .parent_tape = *parent == ':' ? parent + 1 : ""};
}

void note_fork() noexcept { t_forking = entry_of(wire::kForking, false); }

void note_forked_child() noexcept {
  if (wire::ChildEntry* entry = t_forking) entry->pid.store(own_pid(), std::memory_order_relaxed);
}

void forget_child() noexcept {
  if (is_recorded_process()) return;
  if (wire::ChildEntry* entry = entry_of(own_pid(), true)) entry->pid.store(0, std::memory_order_relaxed);
}

void note_started(std::uint32_t pid, const char* path) noexcept {
  if (wire::ChildEntry* entry = entry_of(pid, false)) set_name(*entry, path);
}

NotedProgram::NotedProgram(const char* path) noexcept {
  if (g_lineage.pid == 0) return;
  if (is_recorded_process()) {
    if (!is_attached() || path == nullptr) return;
    became_ = g_recorder.header->became;
    std::memcpy(became_, path, strnlen(path, sizeof g_recorder.header->became));
    return;
  }
  entry_ = entry_of(own_pid(), true);
  if (entry_ != nullptr) set_name(*entry_, path);
}

NotedProgram::~NotedProgram() noexcept {
  if (entry_ != nullptr) set_name(*entry_, nullptr);
  if (became_ != nullptr) std::memset(became_, 0, sizeof g_recorder.header->became);
}

} // namespace heaptape::recorder
