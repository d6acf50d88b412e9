#include "cli/commands/export_contents.h"

#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "cli/commands/export_file.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"
#include "report/export/contents_lines.h"
#include "report/export/elf_core.h"
#include "report/export/heapsnapshot.h"
#include "shell/contents_text.h"
#include "shell/session.h"

namespace heaptape::cli {

struct ContentsFormat {
  std::string_view name, suffix;
  bool binary = false;
  Result<> (*write)(Session&, OutputFile&);
};

namespace {

Result<> write_core(Session& session, OutputFile& output) {
  const Result<CoreWritten> written = export_elf_core(session.tape(), *session.memory().value(), output);
  if (!written) return written.error();
  if (const std::string gaps = core_gaps_text(written.value()); !gaps.empty()) say(gaps);
  return Unit{};
}

// What the heap's formats have in common.
class HeapContents {
public:
  HeapContents(Session& session, SnapshotHeap& heap, const BlockTypes& types)
      : session_(session), heap_(heap), blocks_(session.memory_heap()), block_types_(types) {
    for (std::size_t i = 0; i < types.size(); ++i)
      types_.push_back({types[static_cast<std::uint32_t>(i)].name, types[static_cast<std::uint32_t>(i)].is_known()});
  }

  ContentsInput input() {
    const auto event_of = [this](std::uint32_t block) {
      const std::optional<Block> found = blocks_.find_around(heap_.ranks().begin(block));
      return found ? found->event : 0;
    };
    return {.heap = heap_.view(),
            .reachability = heap_.reachability(),
            .dominators = [this]() -> const Dominators& { return heap_.dominators(); },
            .types = types_,
            .type_of = [this](std::uint32_t block) { return block_types_.type_of(block); },
            .event_of = event_of,
            .group_name = [this](const RootRange& range) { return root_group_text(session_, heap_.memory(), range); },
            .word_name = [this](const RootRange& range,
                                std::uint64_t word) { return root_word_text(session_, heap_.memory(), range, word); },
            .stacks = &session_.names()};
  }

private:
  Session& session_;
  SnapshotHeap& heap_;
  HeapCursor& blocks_;
  const BlockTypes& block_types_;
  std::vector<ExportedType> types_;
};

// Makes what exports of the heap need, and writes one.
Result<> with_heap(Session& session, OutputFile& output,
                   const std::function<void(const ContentsInput& input, Sink& sink)>& write) {
  const Result<SnapshotHeap*> heap = session.memory_graph();
  if (!heap) return heap.error();
  const Result<BlockTypes*> types = session.block_types();
  if (!types) return types.error();
  HeapContents contents(session, *heap.value(), *types.value());
  Sink sink([&](std::string_view bytes) { return output.write(bytes); });
  write(contents.input(), sink);
  return sink.finish();
}

Result<> write_heapsnapshot(Session& session, OutputFile& output) {
  HeapSnapshotWritten written;
  const Result<> done = with_heap(
      session, output, [&](const ContentsInput& input, Sink& sink) { written = export_heapsnapshot(input, {}, sink); });
  if (!done) return done;
  if (written.folded_blocks != 0)
    say(with_separators(written.folded_blocks) +
        " small blocks are not shown one by one, but by type below what holds them: DevTools cannot open larger files");
  if (written.too_large != 0)
    say(count_of(written.too_large, "block") + " of 4 GiB or more: the format has room for 4 GiB less one byte");
  return Unit{};
}

Result<> write_lines(Session& session, OutputFile& output) {
  return with_heap(session, output, [&](const ContentsInput& input, Sink& sink) {
    export_contents_lines(session.tape(), *session.memory().value(), input, sink);
  });
}

constexpr std::array kFormats{
    ContentsFormat{"core", ".core", true, write_core},
    ContentsFormat{"heapsnapshot", ".heapsnapshot", false, write_heapsnapshot},
    ContentsFormat{"jsonl", ".jsonl", false, write_lines},
};

} // namespace

const ContentsFormat* find_contents_format(std::string_view name, std::string_view output) {
  for (const ContentsFormat& format : kFormats) {
    if (name.empty() ? output.ends_with(format.suffix) : format.name == name) return &format;
  }
  return nullptr;
}

std::string contents_format_name(const ContentsFormat& format) { return std::string(format.name); }

int export_contents(const ContentsFormat& format, TapeView view, ContentsExport options) {
  const bool unnamed = options.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  if (unnamed) options.output = name_beside(view.path(), format.suffix);
  if (!options.output.empty() && same_file(options.output, view.path()))
    return fail({ErrorCode::Usage, "'" + options.output + "' is the tape itself; give -o another name"});
  Result<Session> opened = Session::from_view(std::move(view), 0);
  if (!opened) return fail(opened.error());
  Session& session = opened.value();
  if (!options.at.empty()) {
    const Result<Moment> moment = session.position(options.at);
    if (!moment) return fail(moment.error());
    session.move_to(moment.value());
  }
  const Result<SnapshotMemory*> memory = session.memory();
  if (!memory) return fail(memory.error());
  const int status = write_file({.path = options.output, .overwrite = options.force, .owner_only = true}, format.binary,
                                [&](OutputFile& output) { return format.write(session, output); });
  if (unnamed && status == kOk) say(options.output + " written: " + snapshot_text(session, memory.value()->facts()));
  return status;
}

} // namespace heaptape::cli
