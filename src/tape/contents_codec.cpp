#include "tape/contents_codec.h"

#include "base/byte_cursor.h"
#include "tape/format.h"
#include "tape/sized_entry.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kSampleFields = 6;

std::string to_string(std::string_view text) { return std::string(text); }

} // namespace

void put_meta(const Meta& meta, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.varint(meta.size());
  for (const auto& [name, value] : meta) {
    writer.text(name);
    writer.text(value);
  }
}

bool parse_meta(std::span<const std::byte> payload, Meta& meta) {
  ByteReader reader(payload);
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    const std::string_view name = reader.text();
    const std::string_view value = reader.text();
    if (reader.ok()) meta.insert_or_assign(to_string(name), to_string(value));
  }
  return reader.ok();
}

void put_modules(std::span<const Module> modules, std::vector<std::byte>& out) {
  std::vector<std::byte> scratch;
  ByteWriter(out).varint(modules.size());
  for (const Module& module : modules) {
    put_sized(out, scratch, [&](ByteWriter& entry) {
      entry.text(module.path);
      entry.varint(module.build_id.size());
      entry.bytes(std::as_bytes(std::span(module.build_id)));
      entry.varint(module.load_bias);
      entry.varint(module.start);
      entry.varint(module.end);
      entry.varint(module.first_seen_us);
      entry.varint(module.segments.size());
      for (const Segment& segment : module.segments) {
        entry.varint(segment.address);
        entry.varint(segment.size);
        entry.varint(segment.file_offset);
        entry.varint(segment.flags);
      }
    });
  }
}

bool parse_modules(std::span<const std::byte> payload, std::vector<Module>& modules) {
  ByteReader reader(payload);
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    Module module;
    module.path = entry.text();
    const auto build_id = entry.bytes(entry.varint());
    for (const std::byte byte : build_id) module.build_id.push_back(static_cast<std::uint8_t>(byte));
    module.load_bias = entry.varint();
    module.start = entry.varint();
    module.end = entry.varint();
    module.first_seen_us = entry.varint();
    for (std::uint64_t segments = entry.varint(); segments != 0 && entry.ok(); --segments) {
      Segment segment;
      segment.address = entry.varint();
      segment.size = entry.varint();
      segment.file_offset = entry.varint();
      segment.flags = static_cast<std::uint32_t>(entry.varint());
      if (entry.ok()) module.segments.push_back(segment);
    }
    if (!entry.ok()) return false;
    if (reader.ok()) modules.push_back(std::move(module));
  }
  return reader.ok();
}

void put_threads(std::span<const Thread> threads, std::vector<std::byte>& out) {
  std::vector<std::byte> scratch;
  ByteWriter(out).varint(threads.size());
  for (const Thread& thread : threads) {
    put_sized(out, scratch, [&](ByteWriter& entry) {
      entry.varint(thread.id.value);
      entry.varint(thread.tid);
      entry.text(thread.name);
      entry.varint(thread.first_seen_us);
      entry.varint(thread.ended_us);
      entry.varint(thread.stack_top);
    });
  }
}

bool parse_threads(std::span<const std::byte> payload, std::map<ThreadId, Thread>& threads) {
  ByteReader reader(payload);
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    Thread thread;
    thread.id = ThreadId(static_cast<std::uint32_t>(entry.varint()));
    thread.tid = static_cast<std::uint32_t>(entry.varint());
    thread.name = entry.text();
    thread.first_seen_us = entry.varint();
    thread.ended_us = entry.varint();
    if (!entry.ok()) return false;
    if (entry.remaining() != 0) thread.stack_top = entry.varint(); // since 1.2
    if (!entry.ok()) return false;
    threads.insert_or_assign(thread.id, std::move(thread));
  }
  return reader.ok();
}

void put_marks(std::span<const Mark> marks, std::vector<std::byte>& out) {
  std::vector<std::byte> scratch;
  ByteWriter(out).varint(marks.size());
  for (const Mark& mark : marks) {
    put_sized(out, scratch, [&](ByteWriter& entry) {
      entry.varint(static_cast<std::uint64_t>(mark.kind));
      entry.text(mark.name);
      entry.varint(mark.event);
      entry.varint(mark.time_us);
      entry.varint(mark.thread.value);
      entry.varint(mark.stack.value);
      entry.varint(static_cast<std::uint64_t>(mark.value));
      if (mark.value == MarkValue::Integer) entry.signed_varint(mark.integer);
      if (mark.value == MarkValue::Real) entry.u64(std::bit_cast<std::uint64_t>(mark.real));
      entry.text(mark.detail);
    });
  }
}

bool parse_marks(std::span<const std::byte> payload, std::vector<Mark>& marks) {
  ByteReader reader(payload);
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    Mark mark;
    mark.kind = static_cast<MarkKind>(entry.varint());
    mark.name = entry.text();
    mark.event = entry.varint();
    mark.time_us = entry.varint();
    mark.thread = ThreadId(static_cast<std::uint32_t>(entry.varint()));
    mark.stack = StackId(static_cast<std::uint32_t>(entry.varint()));
    if (entry.remaining() != 0) { // since 1.3
      const std::uint64_t sort = entry.varint();
      if (sort == static_cast<std::uint64_t>(MarkValue::Integer))
        mark.set_value_bits(sort, static_cast<std::uint64_t>(entry.signed_varint()));
      else if (sort == static_cast<std::uint64_t>(MarkValue::Real))
        mark.set_value_bits(sort, entry.u64());
      mark.detail = entry.text();
    }
    if (!entry.ok()) return false;
    if (reader.ok()) marks.push_back(std::move(mark));
  }
  return reader.ok();
}

void put_pools(std::span<const Pool> pools, std::vector<std::byte>& out) {
  std::vector<std::byte> scratch;
  ByteWriter(out).varint(pools.size());
  for (const Pool& pool : pools) {
    put_sized(out, scratch, [&](ByteWriter& entry) {
      entry.varint(pool.number);
      entry.varint(static_cast<std::uint64_t>(pool.kind));
      entry.text(pool.name);
    });
  }
}

bool parse_pools(std::span<const std::byte> payload, std::map<std::uint32_t, Pool>& pools) {
  ByteReader reader(payload);
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    Pool pool;
    pool.number = static_cast<std::uint32_t>(entry.varint());
    pool.kind = static_cast<PoolKind>(entry.varint());
    pool.name = entry.text();
    if (!entry.ok()) return false;
    if (reader.ok()) pools.insert_or_assign(pool.number, std::move(pool));
  }
  return reader.ok();
}

void put_stacks(StackId first, std::span<const StackNode> nodes, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.varint(first.value);
  writer.varint(nodes.size());
  std::uint32_t id = first.value;
  for (const StackNode& node : nodes) writer.varint(id++ - node.parent.value);
  std::uint64_t last_pc = 0;
  for (const StackNode& node : nodes) {
    writer.signed_varint(static_cast<std::int64_t>(node.pc - last_pc));
    last_pc = node.pc;
  }
}

bool parse_stacks(std::span<const std::byte> payload, std::vector<StackNode>& nodes) {
  ByteReader reader(payload);
  const std::uint64_t first = reader.varint();
  const std::uint64_t count = reader.varint();
  // Each node takes at least two bytes, so a count that passes is backed by the payload.
  if (!reader.ok() || first == 0 || first >= format::kMaxStackNodes || count > reader.remaining() / 2 ||
      count > format::kMaxStackNodes - first)
    return false;
  if (nodes.size() < first + count) nodes.resize(first + count);
  for (std::uint64_t id = first; id < first + count; ++id) {
    const std::uint64_t distance = reader.varint();
    // A parent that is not smaller than its child could make a path endless.
    if (distance == 0 || distance > id) return false;
    nodes[id].parent = StackId(static_cast<std::uint32_t>(id - distance));
  }
  std::uint64_t pc = 0;
  for (std::uint64_t id = first; id < first + count; ++id) {
    pc += static_cast<std::uint64_t>(reader.signed_varint());
    nodes[id].pc = pc;
  }
  return reader.ok();
}

void put_samples(std::span<const Sample> samples, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.varint(samples.size());
  writer.varint(kSampleFields);
  Sample last;
  const auto delta = [&](std::uint64_t now, std::uint64_t before) {
    writer.signed_varint(static_cast<std::int64_t>(now - before));
  };
  for (const Sample& sample : samples) {
    delta(sample.time_us, last.time_us);
    delta(sample.rss_bytes, last.rss_bytes);
    delta(sample.anonymous_bytes, last.anonymous_bytes);
    delta(sample.virtual_bytes, last.virtual_bytes);
    delta(sample.cpu_us, last.cpu_us);
    delta(sample.threads, last.threads);
    last = sample;
  }
}

bool parse_samples(std::span<const std::byte> payload, std::vector<Sample>& samples) {
  ByteReader reader(payload);
  const std::uint64_t count = reader.varint();
  const std::uint64_t fields = reader.varint();
  if (!reader.ok() || fields < kSampleFields || count > reader.remaining() / fields) return false;
  Sample sample;
  const auto apply = [&](std::uint64_t& field) { field += static_cast<std::uint64_t>(reader.signed_varint()); };
  for (std::uint64_t left = count; left != 0; --left) {
    apply(sample.time_us);
    apply(sample.rss_bytes);
    apply(sample.anonymous_bytes);
    apply(sample.virtual_bytes);
    apply(sample.cpu_us);
    sample.threads += static_cast<std::uint32_t>(reader.signed_varint());
    for (std::uint64_t extra = fields; extra != kSampleFields; --extra) reader.varint();
    if (!reader.ok()) return false;
    samples.push_back(sample);
  }
  return true;
}

void put_odd_calls(const OddCalls& odd, std::vector<std::byte>& out) {
  std::vector<std::byte> scratch;
  ByteWriter writer(out);
  writer.varint(odd.left_out);
  writer.varint(odd.calls.size());
  for (const OddCall& call : odd.calls) {
    put_sized(out, scratch, [&](ByteWriter& entry) {
      entry.varint(static_cast<std::uint64_t>(call.kind));
      entry.varint(static_cast<std::uint64_t>(call.call));
      entry.varint(call.event);
      entry.varint(call.time_us);
      entry.varint(call.thread.value);
      entry.varint(call.stack.value);
      entry.varint(call.address);
      entry.varint(call.size);
      entry.varint(call.maker);
      entry.varint(call.block_size);
      entry.varint(static_cast<std::uint64_t>(call.family));
      entry.varint(call.error);
    });
  }
}

bool parse_odd_calls(std::span<const std::byte> payload, OddCalls& odd) {
  ByteReader reader(payload);
  const std::uint64_t left_out = reader.varint();
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    ByteReader entry(reader.bytes(reader.varint()));
    OddCall call;
    call.kind = static_cast<OddKind>(entry.varint());
    call.call = static_cast<EventKind>(entry.varint());
    call.event = entry.varint();
    call.time_us = entry.varint();
    call.thread = ThreadId(static_cast<std::uint32_t>(entry.varint()));
    call.stack = StackId(static_cast<std::uint32_t>(entry.varint()));
    call.address = entry.varint();
    call.size = entry.varint();
    call.maker = entry.varint();
    call.block_size = entry.varint();
    call.family = static_cast<Family>(entry.varint());
    call.error = static_cast<std::uint32_t>(entry.varint());
    if (!entry.ok()) return false;
    if (reader.ok()) odd.calls.push_back(call);
  }
  if (reader.ok()) odd.left_out = left_out;
  return reader.ok();
}

void put_summary(const Summary& summary, std::vector<std::byte>& out) {
  ByteWriter writer(out);
  writer.varint(summary.events);
  writer.varint(summary.per_kind.size());
  for (const std::uint64_t count : summary.per_kind) writer.varint(count);
  writer.varint(summary.duration_us);
  writer.varint(summary.allocated_bytes);
  writer.varint(summary.allocated_blocks);
  writer.varint(summary.live_bytes);
  writer.varint(summary.live_blocks);
  writer.varint(summary.peak_bytes);
  writer.varint(summary.peak_event);
  writer.varint(summary.peak_us);
  writer.varint(summary.unknown_releases);
  writer.varint(summary.reordered);
  writer.varint(summary.losses.size());
  for (const auto& [name, count] : summary.losses) {
    writer.text(name);
    writer.varint(count);
  }
  writer.u8(static_cast<std::uint8_t>(summary.ending));
  writer.signed_varint(summary.ending_detail);
  writer.text(summary.note);
}

bool parse_summary(std::span<const std::byte> payload, std::optional<Summary>& summary) {
  ByteReader reader(payload);
  Summary parsed;
  parsed.events = reader.varint();
  const std::uint64_t kinds = reader.varint();
  for (std::uint64_t kind = 0; kind < kinds && reader.ok(); ++kind) {
    const std::uint64_t count = reader.varint();
    if (kind < parsed.per_kind.size()) parsed.per_kind[kind] = count;
  }
  parsed.duration_us = reader.varint();
  parsed.allocated_bytes = reader.varint();
  parsed.allocated_blocks = reader.varint();
  parsed.live_bytes = reader.varint();
  parsed.live_blocks = reader.varint();
  parsed.peak_bytes = reader.varint();
  parsed.peak_event = reader.varint();
  parsed.peak_us = reader.varint();
  parsed.unknown_releases = reader.varint();
  parsed.reordered = reader.varint();
  for (std::uint64_t left = reader.varint(); left != 0 && reader.ok(); --left) {
    const std::string_view name = reader.text();
    const std::uint64_t count = reader.varint();
    if (reader.ok()) parsed.losses.insert_or_assign(to_string(name), count);
  }
  const std::uint8_t ending = reader.u8();
  parsed.ending =
      ending <= static_cast<std::uint8_t>(Ending::CollectorStopped) ? static_cast<Ending>(ending) : Ending::Unknown;
  parsed.ending_detail = static_cast<std::int32_t>(reader.signed_varint());
  parsed.note = reader.text();
  if (!reader.ok()) return false;
  summary = std::move(parsed);
  return true;
}

} // namespace heaptape
