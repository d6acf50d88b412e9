// The tables of a tape. Each must not outlive the view.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/view/tape_view.h"
#include "sql/table.h"

namespace heaptape {

class AskedSnapshots;

std::unique_ptr<Table> make_event_table(const TapeView& view, const ShouldStop& should_stop);
std::unique_ptr<Table> make_block_table(const TapeView& view, std::shared_ptr<AskedSnapshots> snapshots,
                                        const ShouldStop& should_stop);
std::unique_ptr<Table> make_live_table(const TapeView& view);
std::unique_ptr<Table> make_stack_table(const TapeView& view);
std::unique_ptr<Table> make_frame_table(const TapeView& view);
std::unique_ptr<Table> make_thread_table(const TapeView& view);
std::unique_ptr<Table> make_module_table(const TapeView& view);
std::unique_ptr<Table> make_mark_table(const TapeView& view);
std::unique_ptr<Table> make_pool_table(const TapeView& view);
std::unique_ptr<Table> make_odd_call_table(const TapeView& view);
std::unique_ptr<Table> make_memory_error_table(const TapeView& view);
std::unique_ptr<Table> make_sample_table(const TapeView& view);
std::unique_ptr<Table> make_damage_table(const TapeView& view);
std::unique_ptr<Table> make_snapshot_table(const TapeView& view, const ShouldStop& should_stop);
std::unique_ptr<Table> make_type_table(std::shared_ptr<AskedSnapshots> snapshots);
std::unique_ptr<Table> make_reference_table(const TapeView& view, std::shared_ptr<AskedSnapshots> snapshots,
                                            const ShouldStop& should_stop);

// All of them, in the order of the help. `at`: see Database::open().
std::vector<std::unique_ptr<Table>> make_tables(const TapeView& view, const std::string& at,
                                                const ShouldStop& should_stop);

} // namespace heaptape
