// The command "explain": an Explanation as text and as JSON.
#include "shell/all_commands.h"
#include "shell/describe.h"
#include "shell/explain.h"
#include "shell/explanation_text.h"
#include "shell/pool_blocks.h"

namespace heaptape {
namespace {

void write_frame(JsonWriter& json, Session& session, const Explanation& answer) {
  SnapshotStacks& stacks = session.memory_stacks();
  const MemorySnapshot& snapshot = session.memory().value()->facts();
  const StackFrame& frame = stacks.frame_at(*answer.frame);
  json.begin_object().field("snapshot", snapshot.number).field("snapshot_event", snapshot.event);
  json.field("tid", snapshot.threads[answer.frame->thread].tid).field("frame", answer.frame->frame);
  json.field("function", std::string_view(stacks.text_of(frame)));
  json.field("begin", std::string_view(hex(frame.begin))).field("end", std::string_view(hex(frame.end)));
  json.field("offset", static_cast<std::int64_t>(answer.address - frame.begin)).end_object();
}

Result<> explain(Session& session, Call& call, Printer& out) {
  const bool json = call.flag("--json");
  const auto word = call.next();
  if (!word) return Error{ErrorCode::Usage, "explain needs an address or a symbol: explain 0x55d0c4a2e2a0"};
  if (const Result<> done = call.finish(); !done) return done.error();
  const Result<std::uint64_t> address = session.address(*word);
  if (!address) return address.error();
  const Explanation answer = explain_address(session, address.value());
  if (!json) {
    out.print(folded_lines(session.style.bold(hex(address.value()) + " is " + verdict_text(session, answer)) + "\n" +
                               details_text(session, answer),
                           session.style.width));
    return Unit{};
  }
  JsonWriter writer;
  writer.begin_object().field("address", std::string_view(hex(address.value()))).field("event", session.event());
  writer.field("kind", address_kind_name(answer.kind))
      .field("verdict", std::string_view(verdict_text(session, answer)));
  if (answer.block) {
    writer.field("offset", answer.offset).key("block");
    write_life_json(writer, session.stacks(), *answer.block);
  }
  if (answer.former) write_life_json(writer.key("former"), session.stacks(), *answer.former);
  if (!answer.older.empty()) {
    writer.field("older_left_out", answer.older_left_out).key("older").begin_array();
    for (const Tenant& life : answer.older) write_life_json(writer, session.stacks(), life);
    writer.end_array();
  }
  if (answer.thread.value != 0) writer.field("thread", answer.thread.value);
  if (answer.mapper) {
    const MappingPiece& piece = *answer.mapper;
    writer.key("mapping").begin_object();
    writer.field("begin", std::string_view(hex(piece.begin))).field("end", std::string_view(hex(piece.end)));
    writer.field("event", piece.event).field("time_us", piece.time_us).field("thread", piece.thread.value);
    session.stacks().write_json(writer.key("stack"), piece.stack);
    if (answer.kind == AddressKind::Unmapped) {
      writer.field("unmapped_event", answer.unmapping.number).field("unmapped_us", answer.unmapping.time_us);
      session.stacks().write_json(writer.key("unmapped_stack"), answer.unmapping.stack);
    }
    writer.end_object();
  }
  if (answer.frame) write_frame(writer.key("frame"), session, answer);
  if (answer.below_frames) writer.field("below_frames", true);
  if (!answer.in_pools.empty()) write_pool_blocks_json(writer.key("pool_blocks"), session, answer.in_pools);
  out.print(writer.end_object().text() + "\n");
  return Unit{};
}

} // namespace

const char* address_kind_name(AddressKind kind) {
  switch (kind) {
  case AddressKind::Null: return "null";
  case AddressKind::Poison: return "poison";
  case AddressKind::Text: return "text";
  case AddressKind::NotCanonical: return "not canonical";
  case AddressKind::LiveBlock: return "live block";
  case AddressKind::FreedBlock: return "freed block";
  case AddressKind::PastEnd: return "past the end";
  case AddressKind::BeforeStart: return "before the start";
  case AddressKind::Stack: return "stack";
  case AddressKind::Global: return "global";
  case AddressKind::Code: return "code";
  case AddressKind::FreeMemory: return "free memory";
  case AddressKind::Mapping: return "mapping";
  case AddressKind::Unmapped: return "unmapped mapping";
  case AddressKind::ThreadLocal: return "thread-local data";
  case AddressKind::Nothing: return "nothing";
  }
  return "?";
}

const Command kExplainCommand{.name = "explain",
                              .arguments = "ADDR",
                              .summary = "what an address is: block, freed block, stack, global, nothing",
                              .help =
                                  "For an address from a crash. Says whether it lies in a live block, in a freed\n"
                                  "one (by whom, how long ago, who reused it), just past or just before one,\n"
                                  "on a thread's stack (at a snapshot of memory also in which function's frame)\n"
                                  "or in its thread-local data, in a variable, in code, in a mapping, in one that\n"
                                  "was unmapped since; whether it is null with an offset, a pattern that marks bad\n"
                                  "memory, or text.\n",
                              .example = "explain 0x55d0c4a2e2b0",
                              .group = CommandGroup::Memory,
                              .takes = Takes::Address,
                              .run = explain,
                              .alias = "x",
                              .options = kJsonOption};

} // namespace heaptape
