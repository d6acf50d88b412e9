// Pools have names in the program and numbers in the rings. No locks, no memory but a fixed table.
#pragma once

#include <cstdint>

#include "recorder/core/call_site.h"
#include "wire/layout.h"

namespace heaptape::recorder {

// The number of the pool with this name. Whoever is first to use a name sends it to the collector.
std::uint32_t pool_number(const char* name, wire::PoolNameKind kind, const Frame& site) noexcept;

// Sends a name: text records, then PoolName.
void send_name(const char* name, wire::PoolNameKind kind, std::uint32_t number, const Frame& site) noexcept;

// Records a block of a pool, or its end. Block 0 of `freed` is the whole pool.
void record_pool_block(std::uint32_t pool, std::uint64_t block, std::uint64_t size, const Frame& site) noexcept;
void record_pool_free(std::uint32_t pool, std::uint64_t block, const Frame& site) noexcept;

// In the child of a fork that starts a tape of its own: no name has been sent.
void reset_pool_names() noexcept;

} // namespace heaptape::recorder
