#include "sql/list_table.h"

#include <algorithm>
#include <cstdint>

namespace heaptape {
namespace {

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

} // namespace

std::unique_ptr<RowCursor> ListTable::open() const { return std::make_unique<ListRows>(parts_); }

} // namespace heaptape
