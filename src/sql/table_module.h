// Makes a Table known to SQLite as a virtual table.
#pragma once

#include <sqlite3.h>

#include "base/result.h"
#include "sql/table.h"

namespace heaptape {

// Table and should_stop must outlive the connection.
Result<> add_table(sqlite3* database, const Table& table, const ShouldStop& should_stop);

} // namespace heaptape
