// The payloads of all blocks but EVENTS, before compression. The put_ functions append to `out`; the parse_ functions
// take hostile bytes and return false, with the target in some valid state, when these make no sense. Bytes after what
// is known here belong to a later minor version and are ignored.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "tape/contents.h"

namespace heaptape {

void put_meta(const Meta& meta, std::vector<std::byte>& out);
void put_modules(std::span<const Module> modules, std::vector<std::byte>& out);
void put_threads(std::span<const Thread> threads, std::vector<std::byte>& out);
void put_stacks(StackId first, std::span<const StackNode> nodes, std::vector<std::byte>& out);
void put_samples(std::span<const Sample> samples, std::vector<std::byte>& out);
void put_marks(std::span<const Mark> marks, std::vector<std::byte>& out);
void put_pools(std::span<const Pool> pools, std::vector<std::byte>& out);
void put_odd_calls(const OddCalls& odd, std::vector<std::byte>& out);
void put_summary(const Summary& summary, std::vector<std::byte>& out);

// Each adds to what earlier blocks gave.
bool parse_meta(std::span<const std::byte> payload, Meta& meta);
bool parse_modules(std::span<const std::byte> payload, std::vector<Module>& modules);
// A later entry with the same id replaces the earlier one.
bool parse_threads(std::span<const std::byte> payload, std::map<ThreadId, Thread>& threads);
// `nodes` is indexed by id, [0] is "no stack". Ids that no block gave (it was damaged) become roots with pc 0.
bool parse_stacks(std::span<const std::byte> payload, std::vector<StackNode>& nodes);
bool parse_samples(std::span<const std::byte> payload, std::vector<Sample>& samples);
bool parse_marks(std::span<const std::byte> payload, std::vector<Mark>& marks);
// A later entry with the same number replaces the earlier one.
bool parse_pools(std::span<const std::byte> payload, std::map<std::uint32_t, Pool>& pools);
bool parse_odd_calls(std::span<const std::byte> payload, OddCalls& odd);
bool parse_summary(std::span<const std::byte> payload, std::optional<Summary>& summary);

} // namespace heaptape
