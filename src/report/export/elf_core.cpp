#include "report/export/elf_core.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "analysis/heap/recorder_memory.h"
#include "base/number_text.h"
#include "report/export/core_notes.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kMostPipedZeros = std::uint64_t{4} << 30;

template <class Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

constexpr std::uint64_t page_up(std::uint64_t offset) { return (offset + kPageBytes - 1) & ~(kPageBytes - 1); }

Elf64_Word flags_of(std::uint8_t permissions) {
  return ((permissions & kMapRead) != 0 ? PF_R : 0U) | ((permissions & kMapWrite) != 0 ? PF_W : 0U) |
         ((permissions & kMapExecute) != 0 ? PF_X : 0U);
}

// Head, program headers, notes, contents; and when there are too many segments for the head, one section header that has their number.
class CoreFile {
public:
  CoreFile(const CoreLayout& layout, std::string notes, OutputFile& output)
      : layout_(layout), notes_(std::move(notes)), output_(output) {}

  Result<> write(MemoryCursor& cursor) {
    place();
    put_heads();
    put(notes_);
    skip_to(contents_);
    for (std::size_t i = 0; i < layout_.segments.size() && written_.ok(); ++i) {
      const CoreSegment& segment = layout_.segments[i];
      if (segment.bytes == 0 || segment.hole) continue;
      put_contents(cursor, segment.begin, segment.begin + segment.bytes);
    }
    if (has_holes_) skip(CoreLayout::kHoleBytes);
    if (is_long()) put(bytes_of(counting_section()));
    flush();
    return written_;
  }
  std::uint64_t damaged_bytes() const { return damaged_; }

private:
  std::uint64_t headers() const { return layout_.segments.size() + 1; }
  bool is_long() const { return headers() >= PN_XNUM; }

  void place() {
    const std::uint64_t notes = sizeof(Elf64_Ehdr) + headers() * sizeof(Elf64_Phdr);
    contents_ = page_up(notes + notes_.size());
    hole_ = contents_;
    for (const CoreSegment& segment : layout_.segments) {
      if (segment.hole)
        has_holes_ = true;
      else
        hole_ += segment.bytes;
    }
    end_ = hole_ + (has_holes_ ? CoreLayout::kHoleBytes : 0);
  }

  void put_heads() {
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_CORE;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_phoff = sizeof head;
    head.e_ehsize = sizeof head;
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = is_long() ? PN_XNUM : static_cast<Elf64_Half>(headers());
    if (is_long()) {
      head.e_shoff = end_;
      head.e_shentsize = sizeof(Elf64_Shdr);
      head.e_shnum = 1;
    }
    put(bytes_of(head));

    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = sizeof head + headers() * sizeof(Elf64_Phdr);
    notes.p_filesz = notes_.size();
    notes.p_align = 4;
    put(bytes_of(notes));
    std::uint64_t at = contents_;
    for (const CoreSegment& segment : layout_.segments) {
      Elf64_Phdr load{};
      load.p_type = PT_LOAD;
      load.p_flags = flags_of(segment.permissions);
      load.p_offset = segment.hole ? hole_ : at;
      load.p_vaddr = segment.begin;
      load.p_filesz = segment.bytes;
      load.p_memsz = segment.end - segment.begin;
      load.p_align = kPageBytes;
      put(bytes_of(load));
      if (!segment.hole) at += segment.bytes;
    }
  }

  Elf64_Shdr counting_section() const {
    Elf64_Shdr section{};
    section.sh_size = 1; // of the section headers
    section.sh_info = static_cast<Elf64_Word>(headers());
    return section;
  }

  void put_contents(MemoryCursor& cursor, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end && written_.ok();) {
      const std::uint64_t till = std::min(end, cursor.run_end(at));
      const MemoryState state = cursor.state_at(at);
      if (state == MemoryState::Zero) {
        skip(till - at);
        at = till;
        continue;
      }
      const std::size_t size = std::min<std::uint64_t>(page_.size() - at % kPageBytes, till - at);
      const std::size_t known = cursor.read(at, std::span(page_).first(size));
      if (known == 0) {
        damaged_ += size;
        skip(size);
      } else {
        put({reinterpret_cast<const char*>(page_.data()), known});
      }
      at += known == 0 ? size : known;
    }
  }

  void put(std::string_view bytes) {
    written_bytes_ += bytes.size();
    waiting_ += bytes;
    if (waiting_.size() >= kWritten) flush();
  }
  void skip(std::uint64_t bytes) {
    flush();
    if (!written_.ok()) return;
    written_ = output_.write_zeros(bytes);
    written_bytes_ += bytes;
  }
  void flush() {
    if (written_.ok()) written_ = output_.write(waiting_);
    waiting_.clear();
  }
  void skip_to(std::uint64_t offset) { skip(offset - written_bytes_); }

  const CoreLayout& layout_;
  const std::string notes_;
  OutputFile& output_;
  std::uint64_t contents_ = 0, hole_ = 0, end_ = 0; // offsets in the file
  bool has_holes_ = false;
  std::uint64_t written_bytes_ = 0, damaged_ = 0;
  Result<> written_ = Unit{};
  static constexpr std::size_t kWritten = std::size_t{256} << 10;
  std::string waiting_;
  std::array<std::byte, kPageBytes> page_;
};

bool is_recorder_mapping(std::string_view name) { return name.starts_with(kRecorderMemory) || name == kRecorderTables; }

// What the recorder has mapped is none of the program's, but for a stack that one of its threads is on: a handler may run on the recorder's.
std::vector<MappedRange> regions_of_program(const SnapshotMemory& memory) {
  std::vector<MappedRange> regions = memory.facts().regions;
  std::erase_if(regions, [&](const MappedRange& region) {
    return is_recorder_mapping(memory.name_of(region)) &&
           std::none_of(memory.facts().threads.begin(), memory.facts().threads.end(), [&](const ThreadState& thread) {
             return thread.stopped && region.begin <= thread[ThreadState::Rsp] && thread[ThreadState::Rsp] < region.end;
           });
  });
  return regions;
}

// Of these, what the file holds of pages that are zeros.
std::uint64_t bytes_of_zeros(const CoreLayout& layout, std::span<const PageRun> runs) {
  std::uint64_t bytes = 0;
  bool has_holes = false;
  auto run = runs.begin();
  for (const CoreSegment& segment : layout.segments) {
    has_holes = has_holes || segment.hole;
    const std::uint64_t end = segment.hole ? segment.begin : segment.begin + segment.bytes;
    while (run != runs.end() && run->end <= segment.begin) ++run;
    for (auto at = run; at != runs.end() && at->begin < end; ++at) {
      if (at->state == PageState::Zero) bytes += std::min(at->end, end) - std::max(at->begin, segment.begin);
    }
  }
  return bytes + (has_holes ? CoreLayout::kHoleBytes : 0);
}

} // namespace

Result<CoreWritten> export_elf_core(const TapeReader& tape, SnapshotMemory& memory, OutputFile& output) {
  CoreWritten written;
  for (const ThreadState& thread : memory.facts().threads) written.missing_threads += thread.stopped ? 0 : 1;
  MemoryCursor cursor(memory.image());
  std::array<std::byte, kPageBytes> page;
  written.layout = lay_out_core(regions_of_program(memory), memory.image().runs(),
                                [&](std::uint64_t address) { return cursor.read(address, page) == page.size(); });
  const std::uint64_t zeros = bytes_of_zeros(written.layout, memory.image().runs());
  if (zeros > kMostPipedZeros && !output.takes_holes())
    return Error{ErrorCode::Usage, "the core file has " + bytes_text(zeros) +
                                       " of zeros, which take room everywhere but in a file; write it with -o FILE"};
  CoreFile file(written.layout, core_notes(tape, memory), output);
  if (Result<> done = file.write(cursor); !done) return done.error();
  written.damaged_bytes = file.damaged_bytes();
  return written;
}

std::string core_gaps_text(const CoreWritten& core) {
  const auto missing = [&](PageState state) { return core.layout.missing_bytes[static_cast<std::size_t>(state)]; };
  std::string text;
  const auto add = [&](std::uint64_t bytes, std::string_view what) {
    if (bytes != 0) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", bytes_text(bytes), what);
  };
  add(missing(PageState::LeftOut), "that the program asked to keep out of dumps");
  add(missing(PageState::Refused), "that the kernel refused to give");
  add(missing(PageState::Shared), "shared with other processes and too large to copy");
  add(core.damaged_bytes + missing(PageState::Fill), "damaged on the tape");
  if (core.missing_threads != 0)
    text += fmt::format("{}{} that did not stop", text.empty() ? "" : "; ", count_of(core.missing_threads, "thread"));
  return text.empty() ? text : "not in the core file: " + text;
}

} // namespace heaptape
