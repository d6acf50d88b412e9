// Compares every stack the recorder captures with libunwind's, frame for frame. Linked into a test build of the recorder in
// place of nothing; writes its counts to the file named by STACK_TRUTH_FILE when the program ends.
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "recorder/core/events.h"
#include "wire/stack_roots.h"

namespace heaptape::recorder {

namespace {

std::atomic<unsigned long> g_equal, g_cut, g_different;
char g_details[65536];
std::atomic<int> g_detail_size;
thread_local bool t_checking [[gnu::tls_model("initial-exec")]] = false;

void describe(const char* what, const std::uint64_t* pcs, std::size_t count) {
  char line[4096];
  int size = snprintf(line, sizeof line, "  %s:", what);
  for (std::size_t i = 0; i < count && size < 3900; ++i) {
    Dl_info info{};
    (void)dladdr(reinterpret_cast<void*>(pcs[i] - 1), &info);
    size += snprintf(line + size, sizeof line - static_cast<std::size_t>(size), " %lx(%s)", pcs[i],
                     info.dli_sname != nullptr ? info.dli_sname : "?");
  }
  size += snprintf(line + size, sizeof line - static_cast<std::size_t>(size), "\n");
  const int at = g_detail_size.fetch_add(size);
  if (at + size < static_cast<int>(sizeof g_details))
    __builtin_memcpy(g_details + at, line, static_cast<std::size_t>(size));
}

struct Report {
  ~Report() {
    const char* path = getenv("STACK_TRUTH_FILE");
    if (path == nullptr) return;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0) return;
    dprintf(fd, "equal %lu cut %lu different %lu\n", g_equal.load(), g_cut.load(), g_different.load());
    const int size = g_detail_size.load();
    if (size > 0) (void)!write(fd, g_details, static_cast<std::size_t>(size < 60000 ? size : 60000));
    close(fd);
  }
};
Report g_report;

} // namespace

void check_stack(const Frame& site, std::uint32_t stack) noexcept {
  if (t_checking) return;
  t_checking = true;
  static thread_local std::uint64_t theirs[2048];
  static thread_local std::uint64_t ours[2048];
  std::size_t their_count = 0;
  std::size_t our_count = 0;
  std::uint64_t mark = 0;

  const auto* nodes = reinterpret_cast<const wire::StackNode*>(g_recorder.memory + g_recorder.header->config.nodes);
  for (std::uint32_t id = stack; id != 0 && our_count < 2048; id = nodes[id].parent.load()) {
    const std::uint64_t pc = nodes[id].pc.load() & wire::kAddressMask;
    if (pc >= wire::kFirstAddress) {
      ours[our_count++] = pc;
    } else if (pc < wire::kRootEpoch) {
      mark = pc;
    }
  }
  unw_context_t context;
  unw_cursor_t cursor;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  bool inside = false;
  do {
    unw_word_t pc = 0;
    unw_word_t sp = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    unw_get_reg(&cursor, UNW_REG_SP, &sp);
    if (sp == site.slot + 8) inside = true;
    if (inside && pc != 0) theirs[their_count++] = pc;
  } while (their_count < 2048 && unw_step(&cursor) > 0);

  std::size_t same = 0;
  while (same < our_count && same < their_count && ours[same] == theirs[same]) ++same;
  // Of one that is too deep, exactly the innermost frames are kept.
  const bool kept = mark == wire::kRootTooDeep && our_count == g_recorder.max_depth && their_count > our_count;
  if (same == our_count && (same == their_count || kept)) {
    ++g_equal;
  } else if (same == our_count && mark == wire::kRootCut) {
    ++g_cut;
  } else if (g_different.fetch_add(1) < 8) {
    const std::size_t from = same > 2 ? same - 2 : 0;
    char head[128];
    const int size = snprintf(head, sizeof head, "different: ours %zu frames (mark %lu), theirs %zu, same %zu\n",
                              our_count, mark, their_count, same);
    const int at = g_detail_size.fetch_add(size);
    __builtin_memcpy(g_details + at, head, static_cast<std::size_t>(size));
    describe("ours", ours + from, our_count - from < 6 ? our_count - from : 6);
    describe("theirs", theirs + from, their_count - from < 6 ? their_count - from : 6);
  }
  t_checking = false;
}

} // namespace heaptape::recorder
