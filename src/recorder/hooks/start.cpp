// Start-up: before the program's first constructor, or at its first allocation if that comes earlier. And again in the
// children of a fork, when they are to have tapes of their own.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "recorder/check/allocator.h"
#include "recorder/check/options.h"
#include "recorder/core/cpu_profile.h"
#include "recorder/core/events.h"
#include "recorder/core/machine.h"
#include "recorder/core/modules.h"
#include "recorder/core/own_memory.h"
#include "recorder/core/recorder.h"
#include "recorder/core/slots.h"
#include "recorder/hooks/attach.h"
#include "recorder/hooks/contents_hook.h"
#include "recorder/hooks/crash_hook.h"
#include "recorder/hooks/environment.h"
#include "recorder/hooks/exec_hooks.h"
#include "recorder/hooks/fork_moment.h"
#include "recorder/hooks/limit_hooks.h"
#include "recorder/hooks/lineage.h"
#include "recorder/hooks/new_hooks.h"
#include "recorder/hooks/pool_functions.h"
#include "recorder/hooks/pool_names.h"
#include "recorder/hooks/real.h"

extern "C" void* __libc_stack_end;

namespace heaptape::recorder {

namespace {

constexpr std::size_t kPathBytes = 4096;

// What a fork's child needs to start over.
constinit char g_collector_path[kPathBytes]; // or unix:SOCKET
constinit char** g_collector_environment = nullptr;
constinit pthread_key_t g_exit_key = 0;
constinit bool g_has_exit_key = false;

void say(const char* text) noexcept {
  (void)system_call(SYS_write, 2, as_long(text), static_cast<long>(std::strlen(text)));
}

void say_off(const char* sentence, const char* more = "", const char* end = "") noexcept {
  char line[kPathBytes + 256];
  std::size_t size = 0;
  for (const char* part : {"heaptape: ", sentence, more, end, "; the program runs unrecorded\n"}) {
    const std::size_t length = std::strlen(part);
    if (size + length >= sizeof line) break;
    std::memcpy(line + size, part, length + 1);
    size += length;
  }
  say(line);
}

std::uint64_t parse_number(const char* text) noexcept {
  std::uint64_t number = 0;
  for (; text != nullptr && *text >= '0' && *text <= '9'; ++text)
    number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

// The path we were loaded by, as it stands in LD_PRELOAD.
const char* own_path() noexcept {
  Dl_info info;
  return dladdr(&g_exit_key, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// A collector that listens (HEAPTAPE_COLLECTOR=unix:SOCKET), or heaptape beside the library: in a build tree (lib/../bin) or installed (lib/<machine>/heaptape/../../../bin).
bool find_collector(char** environment) noexcept {
  if (const char* given = find_variable(environment, "HEAPTAPE_COLLECTOR");
      given != nullptr && std::strlen(given) < kPathBytes) {
    std::memcpy(g_collector_path, given, std::strlen(given) + 1);
    if (listening_socket(g_collector_path) != nullptr) return true;
    return system_call(SYS_access, as_long(g_collector_path), X_OK) == 0;
  }
  const char* library = own_path();
  const char* slash = std::strrchr(library, '/');
  const std::size_t folder = slash != nullptr ? static_cast<std::size_t>(slash - library) + 1 : 0;
  for (const char* place : {"../bin/heaptape", "../../../bin/heaptape", "../../bin/heaptape", "heaptape"}) {
    if (folder + std::strlen(place) >= kPathBytes) continue;
    std::memcpy(g_collector_path, library, folder);
    std::memcpy(g_collector_path + folder, place, std::strlen(place) + 1);
    if (system_call(SYS_access, as_long(g_collector_path), X_OK) == 0) return true;
  }
  return false;
}

int note_loaded(dl_phdr_info* info, std::size_t, void*) noexcept {
  std::uint64_t code = 0, low = ~std::uint64_t{0}, high = 0;
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t start = info->dlpi_addr + segment.p_vaddr, end = start + segment.p_memsz;
    if (code == 0 && (segment.p_flags & PF_X) != 0) code = start;
    if (start < low) low = start & ~std::uint64_t{4095};
    if (end > high) high = end;
  }
  CodeObject object = code != 0 ? find_object(code) : CodeObject{};
  if (object.start == 0) return 0;
  if (object.start > low || object.end < high) { // one of its segments
    object.start = low;
    object.end = high;
    note_object_with_gaps(object);
  }
  note_module(object);
  return 0;
}

// Runs for each thread that ends, in several rounds; the last leaves, so that other destructors are still recorded.
void thread_ends(void* value) noexcept {
  const auto round = reinterpret_cast<std::uintptr_t>(value);
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    (void)pthread_setspecific(g_exit_key, reinterpret_cast<void*>(round + 1));
  } else {
    leave_thread();
  }
}

void thread_arrived(ThreadState& thread, Caller caller) noexcept {
  // libc keeps the first keys in the thread itself and allocates for others, which a signal handler must not. Without a key, the collector
  // notices the end.
  constexpr pthread_key_t kKeysInThread = 32;
  const bool may_set = caller == Caller::Code || g_exit_key < kKeysInThread;
  if (g_has_exit_key && may_set) (void)pthread_setspecific(g_exit_key, reinterpret_cast<void*>(std::uintptr_t{1}));
  if (caller == Caller::Code) arm_cpu_timer(thread);
}

[[gnu::noinline]] bool begin(const Attached& attached) noexcept {
  auto* header = reinterpret_cast<wire::Header*>(attached.memory);
  rlimit stack_limit{std::uint64_t{8} << 20, 0};
  (void)system_call(SYS_prlimit64, 0, RLIMIT_STACK, 0, as_long(&stack_limit));
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;
  const std::uint64_t reach = stack_limit.rlim_cur < kLargest ? stack_limit.rlim_cur : kLargest;
  const std::uint64_t top = (reinterpret_cast<std::uint64_t>(__libc_stack_end) + 4095) & ~std::uint64_t{4095};
  if (!start_recorder(attached.memory, top, reach)) {
    say_off(no_memory_sentence());
    note_no_memory(*header);
    return false;
  }
  start_slots(attached.scratch, attached.scratch_slots);
  constexpr std::uint64_t kRest = std::uint64_t{16} << 20; // our own code, rules of addresses, what is rounded up
  note_held_memory(attached.bytes + checked_address_space(), wire::table_offset(g_recorder.config.table_count) + kRest);
  const auto pid = static_cast<std::uint32_t>(system_call(SYS_getpid));
  g_recorder.main_tid = pid;
  (void)dl_iterate_phdr(note_loaded, nullptr);
  const bool barrier = system_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  header->membarrier_registered.store(barrier ? 1 : 0, std::memory_order_relaxed);
  header->pid.store(pid, std::memory_order_relaxed);
  tell_own_memory(header);
  begin_lineage(*header, attached, g_collector_environment);
  // For snapshots of memory: where the kernel lets only ancestors trace a process (yama), also the collector. Elsewhere it is refused.
  (void)system_call(SYS_prctl, PR_SET_PTRACER, static_cast<long>(g_recorder.collector_tid));
  header->attached.store(1, std::memory_order_release);
  g_switch.attached.store(1, std::memory_order_release);
  if (g_recorder.config.no_heap == 0) g_switch.on.store(switch_position(), std::memory_order_release);
  arrange_contents();
  arrange_crash_handlers();
  reset_cpu_profile();
  start_cpu_profile(g_recorder.config.cpu_hz, HT_CALL_SITE());
  return true;
}

// A child that fork() made, with --follow: everything of the parent's recording is gone here, begin anew.
void follow_fork() noexcept {
  const Origin origin = origin_of_fork();
  forget_thread();
  reset_modules();
  reset_pool_names();
  tell_own_memory(nullptr);
  g_recorder.header = nullptr;
  g_recorder.epoch.store(0, std::memory_order_relaxed);
  g_recorder.code_epoch.store(0, std::memory_order_relaxed);
  Attached attached;
  attach_new(g_collector_path, g_collector_environment, origin, attached);
  if (attached.memory != nullptr && begin(attached)) hook_pool_functions_again();
}

// Only when the kernel cannot zero the switch for us.
void switch_off_after_fork() noexcept {
  g_switch.on.store(kOff, std::memory_order_relaxed);
  g_switch.attached.store(0, std::memory_order_relaxed);
}

void start() noexcept {
  static constinit std::atomic<bool> s_started{false};
  if (s_started.exchange(true, std::memory_order_acq_rel)) return;
  find_real_functions();
  choose_operator_new();
  (void)dlerror();
  if (g_check.on) arrange_checks();

  char** environment = initial_environment();
  const char* library = own_path();
  const char* follow_text = find_variable(environment, "HEAPTAPE_FOLLOW");
  const bool follow = follow_text != nullptr && follow_text[0] == '1';
  const char* fd_text = find_variable(environment, "HEAPTAPE_SHM_FD");
  const char* door = find_variable(environment, "HEAPTAPE_SHM_DOOR");
  const char* parent = find_variable(environment, "HEAPTAPE_SHM_PARENT");
  Attached attached;
  if (const char* reason = reason_to_stay_off(); reason != nullptr) {
    if (door == nullptr) say_off(reason); // else the collector finds out by itself and says it at the end
  } else {
    const Origin origin = door != nullptr     ? Origin{.started_by = wire::StartedBy::Exec}
                          : parent != nullptr ? origin_of_spawn(parent)
                                              : Origin{};
    if (fd_text != nullptr) {
      attach_inherited(static_cast<int>(parse_number(fd_text)),
                       parse_number(find_variable(environment, "HEAPTAPE_SHM_KEY")), attached);
    }
    if (attached.memory == nullptr && door != nullptr) attach_at_door(door, origin, attached);
    const bool need_collector = attached.memory == nullptr && !attached.say_so && !attached.not_wanted;
    g_collector_environment = copy_for_collector(environment);
    if (need_collector || follow) {
      if (find_collector(environment)) {
        if (need_collector) attach_new(g_collector_path, g_collector_environment, origin, attached);
      } else if (need_collector) {
        say_off("there is no heaptape at ", g_collector_path, "; set HEAPTAPE_COLLECTOR to its path");
      }
    }
    if (attached.say_so) say_off(attached.message);
  }
  if (attached.memory != nullptr) read_pool_functions(environment);
  restore_environment(environment, library, follow);
  if (follow || attached.memory != nullptr) pass_recorder_on(library, follow);
  if (attached.memory == nullptr) return;

  g_has_exit_key = pthread_key_create(&g_exit_key, thread_ends) == 0;
  g_thread_arrived = thread_arrived;
  const bool wiped = system_call(SYS_madvise, as_long(&g_switch), sizeof g_switch, MADV_WIPEONFORK) == 0;
  if (!wiped) (void)pthread_atfork(nullptr, nullptr, switch_off_after_fork);
  const bool follow_forks = follow && g_collector_environment != nullptr;
  if (follow_forks)
    (void)pthread_atfork(mark_fork, nullptr, follow_fork);
  else
    (void)pthread_atfork(note_fork, nullptr, note_forked_child);
  if (begin(attached)) hook_pool_functions();
}

[[gnu::constructor(101)]] void start_as_library() { start(); }

} // namespace

} // namespace heaptape::recorder
