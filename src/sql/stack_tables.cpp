// The tables of stacks and of their frames.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "sql/list_table.h"
#include "sql/stack_function.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

using enum ColumnType;

std::size_t stack_count(const TapeView& view) {
  const std::size_t nodes = view.tape().stacks().size();
  return nodes == 0 ? 0 : nodes - 1; // [0] is "no stack"
}

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

} // namespace heaptape
