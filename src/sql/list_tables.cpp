// The tables that are lists in memory: stacks, frames, threads, modules, marks, samples.
#include <algorithm>
#include <array>

#include "report/text/mark_text.h"
#include "sql/stack_function.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

using enum ColumnType;

// A table of `count` rows, whose values a function gives. When the first column is numbered from 1 in step with the
// rows, conditions on it find their rows at once.
struct ListTableParts {
  std::string_view name, meaning;
  std::span<const Column> columns;
  std::size_t count = 0;
  bool numbered = false;
  std::function<void(std::size_t row, std::size_t column, ColumnOut& out)> value;
};

class ListRows final : public RowCursor {
public:
  explicit ListRows(const ListTableParts& parts) : parts_(parts) {}

  void start(const Wanted& wanted) override {
    row_ = 0;
    end_ = wanted.nothing ? 0 : parts_.count;
    if (!parts_.numbered || end_ == 0) return;
    const Wanted::Range& range = wanted.ranges[0];
    const auto count = static_cast<std::int64_t>(parts_.count);
    end_ = static_cast<std::size_t>(std::clamp<std::int64_t>(range.last, 0, count));
    row_ = std::min(end_, static_cast<std::size_t>(std::clamp<std::int64_t>(range.first, 1, count + 1) - 1));
  }
  void next() override { ++row_; }
  bool at_end() const override { return row_ >= end_; }
  std::int64_t row_id() const override { return static_cast<std::int64_t>(row_ + 1); }
  void column(std::size_t index, ColumnOut& out) override { parts_.value(row_, index, out); }

private:
  const ListTableParts& parts_;
  std::size_t row_ = 0, end_ = 0;
};

class ListTable final : public Table {
public:
  explicit ListTable(ListTableParts parts) : parts_(std::move(parts)) {}
  std::string_view name() const override { return parts_.name; }
  std::string_view meaning() const override { return parts_.meaning; }
  std::span<const Column> columns() const override { return parts_.columns; }
  std::uint64_t rows() const override { return parts_.count; }
  std::optional<std::size_t> key() const override {
    return parts_.numbered ? std::optional<std::size_t>(0) : std::nullopt;
  }
  std::unique_ptr<RowCursor> open() const override { return std::make_unique<ListRows>(parts_); }

private:
  ListTableParts parts_;
};

std::size_t stack_count(const TapeView& view) {
  const std::size_t nodes = view.tape().stacks().size();
  return nodes == 0 ? 0 : nodes - 1; // [0] is "no stack"
}

void text_or_null(std::string_view text, ColumnOut& out) { text.empty() ? out.null() : out.lasting_text(text); }

constexpr std::array kStackColumns{
    Column{"id", Integer, Narrow::Reading, "as events.stack, blocks.alloc_stack and others name it"},
    Column{"parent", Integer, Narrow::Nothing,
           "the same stack without its innermost call; NULL: there are no outer frames", true},
    Column{"depth", Integer, Narrow::Nothing, "how many frames"},
    Column{"fn", Text, Narrow::Nothing, "the function charged: the innermost that is not plumbing", true},
    Column{"text", Text, Narrow::Nothing, "all functions, innermost first, with <- between them"},
};

constexpr std::array kFrameColumns{
    Column{"stack", Integer, Narrow::Reading, "stacks.id"},
    Column{"depth", Integer, Narrow::Nothing, "0 is the innermost"},
    Column{"function", Text, Narrow::Nothing, "its name, or module+offset"},
    Column{"file", Text, Narrow::Nothing, "source file, NULL: not known", true},
    Column{"line", Integer, Narrow::Nothing, "NULL: not known", true},
    Column{"column", Integer, Narrow::Nothing, "NULL: not known", true},
    Column{"module", Text, Narrow::Nothing, "path of the program or library; [jit]: made at run time; NULL: none",
           true},
    Column{"offset", Integer, Narrow::Nothing, "return address as the module's file counts it"},
    Column{"inlined", Integer, Narrow::Nothing, "1: its code lies in the function of the next frame"},
};

class FrameRows final : public RowCursor {
public:
  explicit FrameRows(const TapeView& view) : view_(view) {}

  void start(const Wanted& wanted) override {
    const auto count = static_cast<std::int64_t>(stack_count(view_));
    frames_.clear();
    at_ = 0;
    const Wanted::Range& range = wanted.ranges[0];
    stack_ = wanted.nothing ? count + 1 : std::clamp<std::int64_t>(range.first, 1, count + 1);
    last_ = std::min(range.last, count);
    load();
  }
  void next() override {
    if (++at_ < frames_.size()) return;
    ++stack_;
    load();
  }
  bool at_end() const override { return stack_ > last_; }
  // Stacks are 32 bits, and none is as deep as 2^20.
  std::int64_t row_id() const override { return stack_ << 20 | static_cast<std::int64_t>(at_); }

  void column(std::size_t index, ColumnOut& out) override {
    const StackNames& names = view_.names();
    const NamedFrame& frame = names[frames_[at_]];
    switch (index) {
    case 0: return out.integer(stack_);
    case 1: return out.number(at_);
    case 2: return out.lasting_text(names.text(frame.function));
    case 3: return text_or_null(names.text(frame.file), out);
    case 4: return frame.line == 0 ? out.null() : out.integer(frame.line);
    case 5: return frame.column == 0 ? out.null() : out.integer(frame.column);
    case 6:
      if (frame.module != nullptr) return out.lasting_text(frame.module->path);
      return frame.linkage_name.empty() ? out.null() : out.lasting_text(kRunTimeModule);
    case 7: return out.number(frame.offset);
    default: return out.integer(frame.inlined ? 1 : 0);
    }
  }

private:
  // The next stack that has frames.
  void load() {
    at_ = 0;
    for (; stack_ <= last_; ++stack_) {
      frames_ = view_.names().frames_of(StackId(static_cast<std::uint32_t>(stack_)));
      if (!frames_.empty()) return;
    }
  }

  const TapeView& view_;
  std::int64_t stack_ = 0, last_ = 0;
  std::vector<FrameId> frames_;
  std::size_t at_ = 0;
};

class FrameTable final : public Table {
public:
  explicit FrameTable(const TapeView& view) : view_(view) {}
  std::string_view name() const override { return "frames"; }
  std::string_view meaning() const override { return "the frames of every stack, innermost first"; }
  std::span<const Column> columns() const override { return kFrameColumns; }
  std::uint64_t rows() const override { return stack_count(view_) * 20; }
  bool is_ordered_by(std::size_t column) const override { return column == 0; }
  std::unique_ptr<RowCursor> open() const override { return std::make_unique<FrameRows>(view_); }

private:
  const TapeView& view_;
};

constexpr std::array kThreadColumns{
    Column{"id", Integer, Narrow::Nothing, "as events.thread and others name it"},
    Column{"tid", Integer, Narrow::Nothing, "the kernel's id"},
    Column{"name", Text, Narrow::Nothing, "NULL: it had none", true},
    Column{"first_seen", Real, Narrow::Nothing, "seconds since the start"},
    Column{"ended", Real, Narrow::Nothing, "NULL: not known to have ended", true},
};

constexpr std::array kModuleColumns{
    Column{"path", Text, Narrow::Nothing, "of the program or library"},
    Column{"build_id", Text, Narrow::Nothing, "hexadecimal; NULL: it has none", true},
    Column{"first_address", Integer, Narrow::Nothing, "in memory"},
    Column{"end_address", Integer, Narrow::Nothing, "the first address after it"},
    Column{"load_bias", Integer, Narrow::Nothing, "memory address minus the file's"},
    Column{"first_seen", Real, Narrow::Nothing, "seconds since the start"},
};

constexpr std::array kMarkColumns{
    Column{"name", Text, Narrow::Nothing, "as the program gave it"},
    Column{"kind", Text, Narrow::Nothing, "'mark', 'snapshot', 'text', 'number', 'check point', ..."},
    Column{"event", Integer, Narrow::Nothing, "the last event before it; 0: none"},
    Column{"time", Real, Narrow::Nothing, "seconds since the start"},
    Column{"thread", Integer, Narrow::Nothing, "threads.id"},
    Column{"stack", Integer, Narrow::Nothing, "stacks.id; 0: none"},
    Column{"value", Real, Narrow::Nothing, "of a number; for a check point, the seconds since its t1"},
    Column{"detail", Text, Narrow::Nothing, "values of a check point"},
};

constexpr std::array kPoolColumns{
    Column{"number", Integer, Narrow::Nothing, "as events.pool names it"},
    Column{"name", Text, Narrow::Nothing, "as the program calls it"},
    Column{"function", Integer, Narrow::Nothing, "1: what a function of --alloc-fn returned"},
};

constexpr std::array kSampleColumns{
    Column{"time", Real, Narrow::Nothing, "seconds since the start"},
    Column{"rss", Integer, Narrow::Nothing, "resident bytes, as the kernel counts them"},
    Column{"anonymous", Integer, Narrow::Nothing, "bytes of them that belong to no file"},
    Column{"virtual", Integer, Narrow::Nothing, "bytes of address space"},
    Column{"cpu", Real, Narrow::Nothing, "seconds of processor time so far, all threads"},
    Column{"threads", Integer, Narrow::Nothing, "how many there were"},
};

std::string hex_of(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

void stack_value(const TapeView& view, StackFunction& functions, std::size_t row, std::size_t column, ColumnOut& out) {
  const StackId stack(static_cast<std::uint32_t>(row + 1));
  StackNames& names = view.names();
  switch (column) {
  case 0: return out.integer(stack.value);
  case 1: {
    const StackId parent = view.tape().stacks()[stack.value].parent;
    return parent.value == 0 ? out.null() : out.integer(parent.value);
  }
  case 2: return out.number(names.frames_of(stack).size());
  case 3: return text_or_null(functions(stack), out);
  default: {
    std::string text;
    names.each_frame(stack, [&](FrameId frame) {
      if (!text.empty()) text += " <- ";
      text += names.function(frame);
    });
    return out.text(text);
  }
  }
}

} // namespace

std::unique_ptr<Table> make_stack_table(const TapeView& view) {
  auto functions = std::make_shared<StackFunction>(view.names());
  return std::make_unique<ListTable>(
      ListTableParts{.name = "stacks",
                     .meaning = "every call stack, and every outer part of one",
                     .columns = kStackColumns,
                     .count = stack_count(view),
                     .numbered = true,
                     .value = [&view, functions](std::size_t row, std::size_t column, ColumnOut& out) {
                       stack_value(view, *functions, row, column, out);
                     }});
}

std::unique_ptr<Table> make_frame_table(const TapeView& view) { return std::make_unique<FrameTable>(view); }

std::unique_ptr<Table> make_thread_table(const TapeView& view) {
  return std::make_unique<ListTable>(
      ListTableParts{.name = "threads",
                     .meaning = "every thread",
                     .columns = kThreadColumns,
                     .count = view.tape().threads().size(),
                     .value = [&view](std::size_t row, std::size_t column, ColumnOut& out) {
                       const Thread& thread = view.tape().threads()[row];
                       switch (column) {
                       case 0: return out.integer(thread.id.value);
                       case 1: return out.integer(thread.tid);
                       case 2: return text_or_null(thread.name, out);
                       case 3: return out.seconds(thread.first_seen_us);
                       default: return thread.ended_us == 0 ? out.null() : out.seconds(thread.ended_us);
                       }
                     }});
}

std::unique_ptr<Table> make_module_table(const TapeView& view) {
  return std::make_unique<ListTable>(
      ListTableParts{.name = "modules",
                     .meaning = "the program and every library",
                     .columns = kModuleColumns,
                     .count = view.tape().modules().size(),
                     .value = [&view](std::size_t row, std::size_t column, ColumnOut& out) {
                       const Module& module = view.tape().modules()[row];
                       switch (column) {
                       case 0: return out.lasting_text(module.path);
                       case 1: return module.build_id.empty() ? out.null() : out.text(hex_of(module.build_id));
                       case 2: return out.number(module.start);
                       case 3: return out.number(module.end);
                       case 4: return out.number(module.load_bias);
                       default: return out.seconds(module.first_seen_us);
                       }
                     }});
}

std::unique_ptr<Table> make_mark_table(const TapeView& view) {
  return std::make_unique<ListTable>(
      ListTableParts{.name = "marks",
                     .meaning = "what the program recorded itself: marks, texts, numbers",
                     .columns = kMarkColumns,
                     .count = view.marks().size(),
                     .value = [&view](std::size_t row, std::size_t column, ColumnOut& out) {
                       const Mark& mark = view.marks()[row];
                       switch (column) {
                       case 0: return out.lasting_text(mark.name);
                       case 1: return out.lasting_text(mark_kind_name(mark.kind));
                       case 2: return out.number(mark.event);
                       case 3: return out.seconds(mark.time_us);
                       case 4: return out.integer(mark.thread.value);
                       case 5: return out.integer(mark.stack.value);
                       case 6:
                         if (mark.value == MarkValue::None) return out.null();
                         return mark.value == MarkValue::Integer ? out.integer(mark.integer) : out.real(mark.real);
                       default: return mark.detail.empty() ? out.null() : out.lasting_text(mark.detail);
                       }
                     }});
}

std::unique_ptr<Table> make_pool_table(const TapeView& view) {
  return std::make_unique<ListTable>(
      ListTableParts{.name = "pools",
                     .meaning = "the names of the program's own pools",
                     .columns = kPoolColumns,
                     .count = view.tape().pools().size(),
                     .value = [&view](std::size_t row, std::size_t column, ColumnOut& out) {
                       const Pool& pool = view.tape().pools()[row];
                       switch (column) {
                       case 0: return out.integer(pool.number);
                       case 1: return out.lasting_text(pool.name);
                       default: return out.integer(pool.kind == PoolKind::Function ? 1 : 0);
                       }
                     }});
}

std::unique_ptr<Table> make_sample_table(const TapeView& view) {
  return std::make_unique<ListTable>(
      ListTableParts{.name = "samples",
                     .meaning = "the program as the kernel sees it, sampled",
                     .columns = kSampleColumns,
                     .count = view.tape().samples().size(),
                     .value = [&view](std::size_t row, std::size_t column, ColumnOut& out) {
                       const Sample& sample = view.tape().samples()[row];
                       switch (column) {
                       case 0: return out.seconds(sample.time_us);
                       case 1: return out.number(sample.rss_bytes);
                       case 2: return out.number(sample.anonymous_bytes);
                       case 3: return out.number(sample.virtual_bytes);
                       case 4: return out.seconds(sample.cpu_us);
                       default: return out.integer(sample.threads);
                       }
                     }});
}

std::vector<std::unique_ptr<Table>> make_tables(const TapeView& view, const ShouldStop& should_stop) {
  std::vector<std::unique_ptr<Table>> tables;
  tables.push_back(make_event_table(view, should_stop));
  tables.push_back(make_block_table(view, should_stop));
  tables.push_back(make_live_table(view));
  tables.push_back(make_stack_table(view));
  tables.push_back(make_frame_table(view));
  tables.push_back(make_thread_table(view));
  tables.push_back(make_module_table(view));
  tables.push_back(make_mark_table(view));
  tables.push_back(make_pool_table(view));
  tables.push_back(make_sample_table(view));
  return tables;
}

} // namespace heaptape
