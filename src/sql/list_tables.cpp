// The tables that are lists in memory: threads, modules, marks, pools, odd calls, memory errors, samples, damage.
#include <array>
#include <cstdint>
#include <memory>

#include "analysis/moment/odd_findings.h"
#include "base/number_text.h"
#include "report/pages/memory_errors.h"
#include "report/pages/odd_calls.h"
#include "report/text/mark_text.h"
#include "sql/asked_snapshot.h"
#include "sql/list_table.h"
#include "sql/tables.h"

namespace heaptape {
namespace {

using enum ColumnType;

constexpr std::array kThreadColumns{
    Column{"id", Integer, Narrow::Nothing, "as events.thread and others name it"},
    Column{"tid", Integer, Narrow::Nothing, "the kernel's id"},
    Column{"name", Text, Narrow::Nothing, "NULL: it had none", true},
    Column{"first_seen", Real, Narrow::Nothing, "seconds since the start"},
    Column{"ended", Real, Narrow::Nothing, "NULL: not known to have ended", true},
};

constexpr std::array kOddColumns{
    Column{"sort", Text, Narrow::Nothing,
           "'double-free', 'free-inside-block', 'free-of-stack', 'free-of-static', 'free-of-unknown', 'mismatch', "
           "'wrong-size', 'failed'"},
    Column{"call", Text, Narrow::Nothing, "the function: 'malloc', 'free', 'delete[]', ..."},
    Column{"event", Integer, Narrow::Nothing, "the call itself if is_event, else the last event before it"},
    Column{"is_event", Integer, Narrow::Nothing, "0: the call failed or never returned, and is not in events"},
    Column{"time", Real, Narrow::Nothing, "seconds since the start"},
    Column{"thread", Integer, Narrow::Nothing, "threads.id"},
    Column{"stack", Integer, Narrow::Nothing, "stacks.id"},
    Column{"address", Integer, Narrow::Nothing, "that was given to it; NULL: none", true},
    Column{"size", Integer, Narrow::Nothing, "that was given to it; NULL: none, or beyond all numbers", true},
    Column{"made_by", Text, Narrow::Nothing, "who made the block of a mismatch: 'malloc', 'new', 'new[]'; else NULL",
           true},
    Column{"block_size", Integer, Narrow::Nothing, "of the block, where there was one; else NULL", true},
    Column{"other_event", Integer, Narrow::Nothing, "what released the block before, or made it; NULL: there is none",
           true},
    Column{"error", Integer, Narrow::Nothing, "errno of a call that failed; else NULL", true},
};

constexpr std::array kErrorColumns{
    Column{"sort", Text, Narrow::Nothing,
           "'write-behind', 'write-before', 'write-freed', 'wrong-alignment', 'read-outside', 'write-outside', "
           "'read-freed', 'write-into-freed', 'other'"},
    Column{"found", Text, Narrow::Nothing,
           "'release', 'realloc', 'reuse', 'request', 'exit', 'crash', 'call', 'access', 'unknown'"},
    Column{"event", Integer, Narrow::Nothing, "the last one before it was found; 0: none"},
    Column{"time", Real, Narrow::Nothing, "seconds since the start"},
    Column{"thread", Integer, Narrow::Nothing, "that found it; threads.id"},
    Column{"stack", Integer, Narrow::Nothing, "of the call that found it; stacks.id"},
    Column{"address", Integer, Narrow::Nothing, "of the first wrong byte, or where the access begins"},
    Column{"length", Integer, Narrow::Nothing, "to the last wrong byte, or of the access; else the block's alignment"},
    Column{"block", Integer, Narrow::Nothing, "address of the block that it is about; NULL: not known", true},
    Column{"block_size", Integer, Narrow::Nothing, "NULL: not known", true},
    Column{"expected", Integer, Narrow::Nothing, "what the wrong bytes should have been; NULL: no bytes", true},
    Column{"bytes", Text, Narrow::Nothing, "the first of the wrong bytes, hexadecimal; NULL: none", true},
    Column{"given", Integer, Narrow::Nothing, "the alignment that a release gave; else NULL", true},
    Column{"function", Text, Narrow::Nothing, "of libc, that was about to do it; else NULL", true},
    Column{"whole", Real, Narrow::Nothing, "when it was last seen whole; NULL: when it was made or released", true},
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

constexpr std::array kDamageColumns{
    Column{"offset", Integer, Narrow::Nothing, "in the file of the tape"},
    Column{"bytes", Integer, Narrow::Nothing, "that were skipped from there on"},
    Column{"reason", Text, Narrow::Nothing, "'checksum differs', 'cut off', ..."},
};

std::string hex_of(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

} // namespace

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

std::unique_ptr<Table> make_odd_call_table(const TapeView& view) {
  // Found when first asked for: why an address was not live takes a pass over the events.
  auto findings = std::make_shared<std::vector<OddFinding>>();
  return std::make_unique<ListTable>(
      ListTableParts{.name = "odd_calls",
                     .meaning = "calls that failed, released what was no block, or do not match",
                     .columns = kOddColumns,
                     .count = view.tape().odd_calls().calls.size(),
                     .value = [&view, findings](std::size_t row, std::size_t column, ColumnOut& out) {
                       if (findings->empty()) *findings = odd_findings(view.tape());
                       const OddFinding& finding = (*findings)[row];
                       const OddCall& call = finding.call;
                       const auto number_or_null = [&](std::uint64_t number) {
                         number == 0 || number > INT64_MAX ? out.null() : out.number(number);
                       };
                       switch (column) {
                       case 0: return out.lasting_text(odd_sort_name(finding.sort));
                       case 1: return out.lasting_text(kind_name(call.call));
                       case 2: return out.number(call.event);
                       case 3: return out.integer(is_event(call.kind) ? 1 : 0);
                       case 4: return out.seconds(call.time_us);
                       case 5: return out.integer(call.thread.value);
                       case 6: return out.integer(call.stack.value);
                       case 7: return number_or_null(call.address);
                       case 8: return number_or_null(call.size);
                       case 9:
                         if (finding.sort != OddSort::Mismatch) return out.null();
                         return out.lasting_text(family_name(call.family));
                       case 10: return number_or_null(call.block_size);
                       case 11: return number_or_null(finding.other);
                       default: return number_or_null(call.error);
                       }
                     }});
}

std::unique_ptr<Table> make_memory_error_table(const TapeView& view) {
  return std::make_unique<ListTable>(
      ListTableParts{.name = "memory_errors",
                     .meaning = "what the checks in the program found; none when it ran without",
                     .columns = kErrorColumns,
                     .count = view.tape().memory_errors().errors.size(),
                     .value = [&view](std::size_t row, std::size_t column, ColumnOut& out) {
                       const MemoryError& error = view.tape().memory_errors().errors[row];
                       switch (column) {
                       case 0: return out.lasting_text(error_sort_name(error.sort));
                       case 1: return out.lasting_text(found_at_name(error.found));
                       case 2: return out.number(error.event);
                       case 3: return out.seconds(error.time_us);
                       case 4: return out.integer(error.thread.value);
                       case 5: return out.integer(error.stack.value);
                       case 6: return out.number(error.address);
                       case 7: return out.number(error.length);
                       case 8: return error.block == 0 ? out.null() : out.number(error.block);
                       case 9: return error.block == 0 ? out.null() : out.number(error.block_size);
                       case 10: return error.bytes.empty() ? out.null() : out.integer(error.expected);
                       case 11: return error.bytes.empty() ? out.null() : out.text(hex_text(error.bytes));
                       case 12: return error.given == 0 ? out.null() : out.number(error.given);
                       case 13: return text_or_null(error.function, out);
                       default: return error.whole_us == 0 ? out.null() : out.seconds(error.whole_us);
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

std::unique_ptr<Table> make_damage_table(const TapeView& view) {
  return std::make_unique<ListTable>(
      ListTableParts{.name = "damage",
                     .meaning = "parts of the tape that cannot be read; none when it is whole",
                     .columns = kDamageColumns,
                     .count = view.damage().places.size(),
                     .value = [&view](std::size_t row, std::size_t column, ColumnOut& out) {
                       const Damage& place = view.damage().places[row];
                       switch (column) {
                       case 0: return out.number(place.offset);
                       case 1: return out.number(place.bytes);
                       default: return out.lasting_text(place.reason);
                       }
                     }});
}

std::vector<std::unique_ptr<Table>> make_tables(const TapeView& view, const std::string& at,
                                                const ShouldStop& should_stop) {
  const auto snapshots = std::make_shared<AskedSnapshots>(view, at);
  std::vector<std::unique_ptr<Table>> tables;
  tables.push_back(make_event_table(view, should_stop));
  tables.push_back(make_block_table(view, snapshots, should_stop));
  tables.push_back(make_live_table(view));
  tables.push_back(make_stack_table(view));
  tables.push_back(make_frame_table(view));
  tables.push_back(make_thread_table(view));
  tables.push_back(make_module_table(view));
  tables.push_back(make_mark_table(view));
  tables.push_back(make_pool_table(view));
  tables.push_back(make_odd_call_table(view));
  tables.push_back(make_memory_error_table(view));
  tables.push_back(make_sample_table(view));
  tables.push_back(make_damage_table(view));
  tables.push_back(make_snapshot_table(view, should_stop));
  tables.push_back(make_type_table(snapshots));
  tables.push_back(make_reference_table(view, snapshots, should_stop));
  return tables;
}

} // namespace heaptape
