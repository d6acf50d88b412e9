#include "report/export/core_notes.h"

#include <elf.h>
#include <sys/procfs.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <type_traits>
#include <vector>

#include "analysis/heap/recorder_memory.h"
#include "base/path_text.h"
#include "report/export/core_xstate.h"

namespace heaptape {

namespace {

static_assert(sizeof(prstatus_t) == 336 && sizeof(prpsinfo_t) == 136, "as the kernel writes them on x86-64");
static_assert(sizeof(elf_gregset_t) == ThreadState::kRegisters * sizeof(std::uint64_t));
constexpr std::size_t kFpregsBytes = 512; // the first part of XSAVE's area

class Notes {
public:
  void add(std::uint32_t type, std::string_view bytes, std::string_view owner = "CORE") {
    const Elf64_Nhdr head{static_cast<Elf64_Word>(owner.size() + 1), static_cast<Elf64_Word>(bytes.size()), type};
    text_.append(reinterpret_cast<const char*>(&head), sizeof head);
    text_.append(owner).push_back('\0');
    align();
    text_.append(bytes);
    align();
  }
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void add_value(std::uint32_t type, const Value& value) {
    add(type, {reinterpret_cast<const char*>(&value), sizeof value});
  }
  std::string take() { return std::move(text_); }

private:
  void align() { text_.resize((text_.size() + 3) / 4 * 4); }
  std::string text_;
};

bool ends_a_program(std::uint32_t signal) {
  constexpr std::array<std::uint32_t, 7> kDeadly{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  return std::find(kDeadly.begin(), kDeadly.end(), signal) != kDeadly.end();
}

// Debuggers show the first one.
std::vector<const ThreadState*> threads_in_order(const SnapshotMemory& memory, std::uint32_t pid) {
  std::vector<const ThreadState*> threads;
  for (const ThreadState& thread : memory.facts().threads) {
    if (thread.stopped) threads.push_back(&thread);
  }
  std::stable_sort(threads.begin(), threads.end(), [&](const ThreadState* a, const ThreadState* b) {
    const auto rank = [&](const ThreadState& thread) {
      return ends_a_program(thread.signal) ? 0 : thread.tid == pid ? 1 : 2;
    };
    return rank(*a) < rank(*b);
  });
  return threads;
}

std::uint32_t number_in(const Meta& meta, const char* name) {
  const auto found = meta.find(name);
  return found == meta.end() ? 0 : static_cast<std::uint32_t>(std::strtoul(found->second.c_str(), nullptr, 10));
}

template <std::size_t Size>
void put_text(char (&room)[Size], std::string_view text) {
  std::memcpy(room, text.data(), std::min(text.size(), Size - 1));
}

prpsinfo_t process_of(const TapeReader& tape) {
  prpsinfo_t process{};
  process.pr_sname = 'R';
  process.pr_pid = static_cast<int>(tape.header().pid);
  process.pr_ppid = static_cast<int>(number_in(tape.meta(), "ppid"));
  if (const auto program = tape.meta().find("program"); program != tape.meta().end())
    put_text(process.pr_fname, base_name(program->second));
  if (const auto command = tape.meta().find("command"); command != tape.meta().end()) {
    std::string line = command->second;
    while (!line.empty() && line.back() == '\0') line.pop_back();
    std::replace(line.begin(), line.end(), '\0', ' ');
    put_text(process.pr_psargs, line);
  }
  return process;
}

prstatus_t status_of(const ThreadState& thread, const prpsinfo_t& process) {
  prstatus_t status{};
  if (ends_a_program(thread.signal)) {
    status.pr_cursig = static_cast<short>(thread.signal);
    status.pr_info.si_signo = static_cast<int>(thread.signal);
  }
  status.pr_pid = static_cast<int>(thread.tid);
  status.pr_ppid = process.pr_ppid;
  status.pr_fpvalid = thread.extended.size() >= kFpregsBytes ? 1 : 0;
  std::memcpy(&status.pr_reg, thread.registers.data(), sizeof status.pr_reg);
  return status;
}

std::string files_of(const SnapshotMemory& memory) {
  std::string head, names;
  const auto put = [&](std::uint64_t word) { head.append(reinterpret_cast<const char*>(&word), sizeof word); };
  std::uint64_t count = 0;
  put(0);
  put(kPageBytes);
  for (const MappedRange& region : memory.facts().regions) {
    const std::string& name = memory.name_of(region);
    if (!name.starts_with('/') || name.starts_with(kRecorderMemory)) continue;
    ++count;
    put(region.begin);
    put(region.end);
    put(region.offset / kPageBytes);
    names.append(name).push_back('\0');
  }
  std::memcpy(head.data(), &count, sizeof count);
  return head + names;
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

std::string core_notes(const TapeReader& tape, const SnapshotMemory& memory) {
  Notes notes;
  const prpsinfo_t process = process_of(tape);
  bool is_first = true;
  for (const ThreadState* thread : threads_in_order(memory, tape.header().pid)) {
    notes.add_value(NT_PRSTATUS, status_of(*thread, process));
    if (std::exchange(is_first, false)) {
      notes.add_value(NT_PRPSINFO, process);
      notes.add(NT_AUXV, text_of(memory.facts().auxiliary));
      notes.add(NT_FILE, files_of(memory));
    }
    const std::string_view extended = text_of(thread->extended);
    if (extended.size() < kFpregsBytes) continue;
    notes.add(NT_PRFPREG, extended.substr(0, kFpregsBytes));
    notes.add(NT_X86_XSTATE, xstate_for_debuggers(thread->extended), "LINUX");
  }
  return notes.take();
}

} // namespace heaptape
