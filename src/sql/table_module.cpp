#include "sql/table_module.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace heaptape {
namespace {

struct Registered {
  const Table& table;
  const ShouldStop& should_stop;
};

// SQLite knows these by their first member.
struct ModuleTable {
  sqlite3_vtab base{};
  const Registered* registered = nullptr;
};
struct ModuleCursor {
  sqlite3_vtab_cursor base{};
  std::unique_ptr<RowCursor> rows;
};

const Registered& registered_of(sqlite3_vtab* table) { return *reinterpret_cast<ModuleTable*>(table)->registered; }
ModuleCursor& cursor_of(sqlite3_vtab_cursor* cursor) { return *reinterpret_cast<ModuleCursor*>(cursor); }

class ContextOut final : public ColumnOut {
public:
  explicit ContextOut(sqlite3_context* context) : context_(context) {}
  void null() override { sqlite3_result_null(context_); }
  void integer(std::int64_t number) override { sqlite3_result_int64(context_, number); }
  void real(double number) override { sqlite3_result_double(context_, number); }
  void text(std::string_view text) override { give(text, SQLITE_TRANSIENT); }
  void lasting_text(std::string_view text) override { give(text, SQLITE_STATIC); }

private:
  void give(std::string_view text, sqlite3_destructor_type lifetime) {
    sqlite3_result_text64(context_, text.data() != nullptr ? text.data() : "", text.size(), lifetime, SQLITE_UTF8);
  }
  sqlite3_context* context_;
};

int connect(sqlite3* database, void* registered, int, const char* const*, sqlite3_vtab** table, char**) {
  const auto* entry = static_cast<const Registered*>(registered);
  if (const int status = sqlite3_declare_vtab(database, entry->table.schema().c_str()); status != SQLITE_OK)
    return status;
  auto made = std::make_unique<ModuleTable>();
  made->registered = entry;
  // Nothing here does anything but read, so it may be used in views and triggers too.
  sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
  *table = &made.release()->base;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete reinterpret_cast<ModuleTable*>(table);
  return SQLITE_OK;
}

// The conditions that a plan passes on are written into its idxStr, four characters each: column and operator as
// letters.
char letter_of(int operation) {
  switch (operation) {
  case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
  case SQLITE_INDEX_CONSTRAINT_GT: return '>';
  case SQLITE_INDEX_CONSTRAINT_GE: return 'g';
  case SQLITE_INDEX_CONSTRAINT_LT: return '<';
  case SQLITE_INDEX_CONSTRAINT_LE: return 'l';
  case SQLITE_INDEX_CONSTRAINT_ISNULL: return 'n';
  default: return 0;
  }
}

int best_index(sqlite3_vtab* vtab, sqlite3_index_info* info) {
  const Table& table = registered_of(vtab).table;
  const auto columns = table.columns();
  const double all = static_cast<double>(std::max<std::uint64_t>(table.rows(), 1));
  double read = all, rows = all;
  bool one_row = false;
  int arguments = 0;
  std::string plan;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const char letter = letter_of(constraint.op);
    const bool is_argument = constraint.iColumn >= 0 && static_cast<std::size_t>(constraint.iColumn) < columns.size() &&
                             columns[static_cast<std::size_t>(constraint.iColumn)].is_argument;
    // An argument that depends on another table must wait for it.
    if (is_argument && letter == '=' && !constraint.usable) return SQLITE_CONSTRAINT;
    if (!constraint.usable || letter == 0) continue;
    if (constraint.iColumn < 0 && !table.key()) continue;
    const std::size_t column = constraint.iColumn < 0 ? *table.key() : static_cast<std::size_t>(constraint.iColumn);
    if (column >= columns.size() || columns[column].narrow == Narrow::Nothing) continue;
    if (columns[column].type == ColumnType::Text && letter != '=') continue;
    if (letter == 'n' && !columns[column].may_be_null) continue;
    if (columns[column].type == ColumnType::Text && std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
      continue;
    // x IN (a, b) comes as one x = ... after another; where that saves no reading, it would only read the tape again
    // and again.
    if (columns[column].narrow == Narrow::Rows && !is_argument && sqlite3_vtab_in(info, i, -1) != 0) continue;
    info->aConstraintUsage[i].argvIndex = ++arguments;
    info->aConstraintUsage[i].omit = is_argument;
    plan += static_cast<char>('A' + column);
    plan += letter;
    const bool is_equal = letter == '=';
    rows /= is_equal ? 50 : 3;
    if (columns[column].narrow == Narrow::Reading) read /= is_equal ? 50 : 3;
    one_row |= is_equal && table.key() == column;
  }
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->idxNum = static_cast<int>(info->colUsed & 0x7fff'ffff); // more columns than that no table has
  info->estimatedRows = one_row ? 1 : static_cast<sqlite3_int64>(std::max(rows, 2.0));
  info->estimatedCost = one_row ? 20 : 20 + read;
  if (one_row) info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
  const auto& order = info->aOrderBy;
  if (info->nOrderBy == 1 && order[0].desc == 0) {
    const std::optional<std::size_t> by =
        order[0].iColumn < 0 ? table.key() : static_cast<std::size_t>(order[0].iColumn);
    info->orderByConsumed = by && table.is_ordered_by(*by);
  }
  return SQLITE_OK;
}

// The whole numbers that x < bound, x <= bound, ... leave; nothing when the bound is not a number.
void narrow_range(Wanted& wanted, std::size_t column, char letter, double factor, sqlite3_value* bound) {
  Wanted::Range& range = wanted.ranges[column];
  if (letter == 'n') {
    range.only_null = true;
    return;
  }
  const int type = sqlite3_value_type(bound);
  if (type == SQLITE_NULL) {
    wanted.nothing = true; // no comparison with NULL holds
    return;
  }
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t low = 0, high = 0; // the bound, rounded down and up
  if (type == SQLITE_INTEGER && factor == 1) {
    low = high = sqlite3_value_int64(bound);
  } else if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
    const double value = sqlite3_value_double(bound) * factor;
    const double slack = factor == 1 ? 0 : 1; // seconds are inexact
    // What int64 cannot hold says no more than its ends do.
    const double down = std::floor(value) - slack, up = std::ceil(value) + slack;
    if (std::isnan(value)) return;
    low = down <= -0x1p63 ? kLeast : down >= 0x1p63 ? kMost : static_cast<std::int64_t>(down);
    high = up <= -0x1p63 ? kLeast : up >= 0x1p63 ? kMost : static_cast<std::int64_t>(up);
  } else {
    return;
  }
  switch (letter) {
  case '=':
    range.first = std::max(range.first, low);
    range.last = std::min(range.last, high);
    break;
  // "Less" is taken for "less or equal": conditions are checked again.
  case '>':
  case 'g': range.first = std::max(range.first, low); break;
  default: range.last = std::min(range.last, high); break;
  }
}

int filter(sqlite3_vtab_cursor* vcursor, int used_columns, const char* plan, int count, sqlite3_value** values) {
  ModuleCursor& cursor = cursor_of(vcursor);
  const Table& table = registered_of(vcursor->pVtab).table;
  const auto columns = table.columns();
  Wanted wanted;
  wanted.ranges.resize(columns.size());
  wanted.texts.resize(columns.size());
  wanted.used_columns = static_cast<std::uint64_t>(used_columns);
  for (int i = 0; i < count && plan != nullptr; ++i) {
    const auto column = static_cast<std::size_t>(plan[2 * i] - 'A');
    const char letter = plan[2 * i + 1];
    if (columns[column].type == ColumnType::Text) {
      if (sqlite3_value_type(values[i]) == SQLITE_NULL) wanted.nothing = true;
      if (sqlite3_value_type(values[i]) != SQLITE_TEXT && !columns[column].is_argument) continue;
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[i]));
      std::string given(text != nullptr ? text : "", static_cast<std::size_t>(sqlite3_value_bytes(values[i])));
      // An argument is not checked again: live('peak') WHERE at = '$' is empty.
      if (wanted.texts[column] && *wanted.texts[column] != given) wanted.nothing = true;
      wanted.texts[column] = std::move(given);
    } else {
      narrow_range(wanted, column, letter, columns[column].type == ColumnType::Real ? 1e6 : 1, values[i]);
    }
    const Wanted::Range& range = wanted.ranges[column];
    if (range.first > range.last) wanted.nothing = true;
  }
  cursor.rows->start(wanted);
  if (const std::string error = cursor.rows->error(); !error.empty()) {
    sqlite3_free(vcursor->pVtab->zErrMsg);
    vcursor->pVtab->zErrMsg = sqlite3_mprintf("%s", error.c_str());
    return SQLITE_ERROR;
  }
  return registered_of(vcursor->pVtab).should_stop() ? SQLITE_INTERRUPT : SQLITE_OK;
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  auto made = std::make_unique<ModuleCursor>();
  made->rows = registered_of(table).table.open();
  *cursor = &made.release()->base;
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* cursor) {
  delete &cursor_of(cursor);
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  cursor_of(cursor).rows->next();
  return cursor_of(cursor).rows->at_end() && registered_of(cursor->pVtab).should_stop() ? SQLITE_INTERRUPT : SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* cursor) { return cursor_of(cursor).rows->at_end() ? 1 : 0; }

int column_value(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
  ContextOut out(context);
  cursor_of(cursor).rows->column(static_cast<std::size_t>(column), out);
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = cursor_of(cursor).rows->row_id();
  return SQLITE_OK;
}

// Without xCreate a module is a table of its own name and cannot be made into others.
constexpr sqlite3_module make_module() {
  sqlite3_module module{};
  module.iVersion = 1;
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xDestroy = disconnect;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column_value;
  module.xRowid = row_id;
  return module;
}
constexpr sqlite3_module kModule = make_module();

} // namespace

Result<> add_table(sqlite3* database, const Table& table, const ShouldStop& should_stop) {
  const std::string name(table.name());
  const int status = sqlite3_create_module_v2(database, name.c_str(), &kModule, new Registered{table, should_stop},
                                              [](void* registered) { delete static_cast<Registered*>(registered); });
  if (status == SQLITE_OK) return Unit{};
  return Error{ErrorCode::Unsupported, "SQLite refuses the table " + name + ": " + sqlite3_errmsg(database)};
}

} // namespace heaptape
