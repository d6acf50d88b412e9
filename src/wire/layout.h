// The shared memory between one recorded program and its collector.
//
// One sparse memfd. The collector (or the launcher, before it forks one) creates it, fills in `Config` and the offsets, and
// hands the descriptor over; the recorder maps it and closes the descriptor. Nothing in here is a pointer.
//
// What both sides may rely on:
//   1. One writer per word. A thread writes its own slot's producer line and ring, the collector the consumer line.
//   2. A record is whole or not there: its phase bit is stored last, with release. A torn one is never ready.
//   3. A thread's records are in the order in which it reserved them; across threads only the stamps order them.
//   4. A record stays until the collector has stored a `taken` beyond it; a writer that finds no room waits or drops.
//   5. Nothing else. The other side may be dead, stopped, or write nonsense anywhere at any time: read a word once, check the
//      copy, use the copy, and bound every loop by something of your own.
//
//   offset            what                                   writer
//   0                 Header (config, state, counters)       collector: config; program: state, counters
//   config.claims     one bit per slot: somebody has it      program sets it, collector clears it
//   config.slots      ThreadSlot[slot_count]                 program: producer line; collector: consumer line
//   config.modules    module log, append only                program
//   config.answer     text of the answer to a question       collector
//   config.children   Children                               program, and children of it that are not recorded
//   config.nodes      StackNode[node_capacity]               program
//   config.rings      ring of slot 0, of slot 1, ...         program
//   config.scratch    scratch of slot 0, of slot 1, ...      program: its own state, mapped by nobody else
//
// The rings come behind all that has a fixed size, so a program short of address space may map a prefix and use fewer slots.
// The scratch is mapped in pieces, when there are threads that need it; the collector does not map it at all.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "wire/contents_question.h"
#include "wire/event_kind.h"

namespace heaptape::wire {

inline constexpr std::uint64_t kMagic = 0x31'65'72'69'57'74'48'00; // "\0HtWire1"
inline constexpr std::uint32_t kVersion = 10;
inline constexpr std::size_t kPage = 4096;

// One record of a ring: 24 bytes, three 8-byte words, written in the order word1, word2, word0.
//
//   word0  bits 0..6    kind (EventKind)
//          bit  7       phase: 1 on even laps of the ring, 0 on odd ones; memory fresh from the kernel is "not ready"
//          bits 8..63   ticks since Header::clock_base_ticks
//   word1  bits 0..47   address
//          bits 48..63  size, bits 32..47
//   word2  bits 0..31   size, bits 0..31
//          bits 32..63  stack: index into the node array, 0 = none
//
// A record is ready when its phase bit is that of the lap the reader is in. There is no shared head counter to poll.
struct Record {
  std::atomic<std::uint64_t> word0;
  std::atomic<std::uint64_t> word1;
  std::atomic<std::uint64_t> word2;
};
static_assert(sizeof(Record) == 24);

inline constexpr std::uint64_t kPhaseBit = 0x80;
inline constexpr std::uint64_t kKindMask = 0x7f;
inline constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
inline constexpr std::uint64_t kMaxSize = (std::uint64_t{1} << 48) - 1;
// In the size of an mmap without any access (PROT_NONE). No mapping is this large.
inline constexpr std::uint64_t kReservedBit = std::uint64_t{1} << 47;

// Position `n` (counted from the start of the recording, never wrapping) lies in lap n / capacity.
constexpr std::uint64_t phase_of_lap(std::uint64_t lap) { return (lap & 1) != 0 ? 0 : kPhaseBit; }

// What an answer consists of, in this order.
enum class Answer : std::uint8_t { LiveBytes, LiveBlocks, AllocatedBytes, AllocatedBlocks, PeakBytes, Count };
inline constexpr std::size_t kAnswers = static_cast<std::size_t>(Answer::Count);
// In the place of a MarkKind: no mark, the question only.
inline constexpr std::uint32_t kQuestionOnly = 0xffff;

// Whose a slot is, says its bit among the claims; the state says how far its owner has got.
enum class SlotState : std::uint32_t {
  Free = 0,    // nobody's, or its new owner has not said more yet
  Claimed = 1, // belongs to thread `tid`
  Exiting = 2, // its thread is gone; the collector drains it, stores Free and clears the bit
};

// In the stack field of a ThreadStart record: the thread borrows this slot for its next record, or has borrowed one before. It may have been
// in other slots; its stack's top and its id tell that it is the same.
inline constexpr std::uint32_t kBorrowedSlot = 1;

// One thread's ring control. A ring outlives its threads: positions and phases go on counting when a slot is claimed again,
// and each owner's records begin with a ThreadStart record.
struct ThreadSlot {
  // Producer's cache line.
  alignas(64) std::atomic<std::uint32_t> state; // SlotState
  std::atomic<std::uint32_t> tid;
  // 1 from before the thread reads the clock until its record is ready. While it is 1, a record may still appear whose
  // time is as early as the thread's last ready record; while it is 0, every record yet to come is later than now.
  std::atomic<std::uint32_t> busy;
  std::uint32_t pad0;
  // Records reserved so far; the last few may not be ready yet. Advanced by one plain xadd, so a signal handler that
  // interrupts a hook reserves records of its own.
  std::atomic<std::uint64_t> reserved;

  // Consumer's cache line: records taken out so far. Space is free again up to taken + capacity.
  alignas(64) std::atomic<std::uint64_t> taken;
  // The answer to the thread's last question: the totals just before the mark that asked. `answered`, a futex, is the question's
  // number (Header::questions) and is stored last, with release.
  std::atomic<std::uint32_t> answered;
  std::uint32_t pad1;
  std::atomic<std::uint64_t> answer[kAnswers];
};
static_assert(sizeof(ThreadSlot) == 128);

// The size field of PoolAlloc and PoolFree: which pool (1 .. kMostPools; 0 in a PoolFree: whichever a pool function made the
// block in), and the low half of the block's size.
inline constexpr std::uint32_t kMostPools = 4096; // the last one takes in all further ones
constexpr std::uint64_t pool_size_field(std::uint32_t pool, std::uint64_t size) {
  return std::uint64_t{pool} << 32 | (size & 0xffff'ffff);
}
// The size field of PoolName: the pool, and what the name is.
enum class PoolNameKind : std::uint32_t {
  Given = 0,    // by the program: heaptape_alloc()
  Function = 1, // of a pool of --alloc-fn
  Hooked = 2,   // of a function of --alloc-fn or --free-fn whose calls are recorded from now on; no pool
};

// A call stack is a path of nodes from a leaf (innermost frame) to a root; its id is the index of the leaf. Node 0 is
// "no stack". A node is complete when `pc` is not 0; every id in a ready record is complete, and so are its parents.
// Two nodes may hold the same (parent, pc): inserting never waits, so the reader must fold such twins.
struct StackNode {
  std::atomic<std::uint64_t> pc; // return address, less than 2^48
  std::atomic<std::uint32_t> parent;
  std::uint32_t pad0;
};
static_assert(sizeof(StackNode) == 16);

// Open addressed, linear probing. A stack is known by the hash of its path and its innermost address.
//   hash:  of the path; 0 = empty
//   value: (pc & 0xffffffff) << 32 | id; 0 = being inserted
struct InternEntry {
  std::atomic<std::uint64_t> hash;
  std::atomic<std::uint64_t> value;
};
static_assert(sizeof(InternEntry) == 16);

// The tables lie in memory of the program's own; how many there may be limits the nodes.
inline constexpr unsigned kTableCount = 11;
inline constexpr unsigned kFirstTableBits = 14; // tables of 2^14, 2^15, ... 2^24 entries
constexpr unsigned table_bits(unsigned table) { return kFirstTableBits + table; }
constexpr std::uint64_t table_offset(unsigned table) {
  std::uint64_t offset = 0;
  for (unsigned i = 0; i < table; ++i) offset += sizeof(InternEntry) << table_bits(i);
  return offset;
}
// The largest table is never more than half full, so it decides how many nodes there can be.
constexpr std::uint32_t node_capacity(unsigned table_count) {
  return std::uint32_t{1} << (table_bits(table_count - 1) - 1);
}
inline constexpr std::uint32_t kNodeCapacity = node_capacity(kTableCount); // the most there can be

inline constexpr std::size_t kDoorBytes = 64;
inline constexpr std::size_t kTapeNameBytes = 256;

inline constexpr std::uint64_t kModuleLogBytes = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kAnswerBytes = std::uint64_t{64} << 10;
inline constexpr std::size_t kMaxSegments = 8;

// One entry of the module log; `size` is stored last, with release, and is 0 while the entry is being written.
// The path (not terminated, may be empty: the executable) follows the struct; entries are 8-byte aligned.
struct ModuleEntry {
  std::atomic<std::uint32_t> size; // of the whole entry in bytes, path and padding included
  std::uint32_t path_size;
  std::uint64_t ticks;     // when it was first seen
  std::uint64_t load_bias; // add to an ELF address to get a memory address
  std::uint64_t start;     // first and one-past-last mapped address
  std::uint64_t end;
  std::uint32_t segment_count;
  std::uint32_t build_id_size; // at most 32
  std::uint8_t build_id[32];
  struct Segment {
    std::uint64_t address; // in memory
    std::uint64_t size;
    std::uint64_t file_offset;
    std::uint64_t flags; // PF_R, PF_W, PF_X
  } segments[kMaxSegments];
};

// What could not be recorded, or not in full. Names and sentences are in loss_name().
enum class Loss : std::uint32_t {
  RingFull,       // events dropped because the ring was full (--on-full=drop)
  NoThreadSlot,   // events of threads that found no free slot (--on-full=drop)
  StackTableFull, // events whose stack could not be stored (recorded without one, or with its outer part only)
  ModuleLogFull,  // modules that did not fit
  StackTooDeep,   // stacks cut at --max-depth
  StackCut,       // stacks that ended before the root: no unwind information, or memory that cannot be read
  BeforeStart,    // calls that came before the recorder was ready
  AfterCollector, // events after the collector was gone
  AbandonedHook,  // hooks left by a longjmp out of a signal handler, their event unfinished
  CpuSamples,     // samples of the CPU profile for which there was no room
  CpuThreads,     // threads that the kernel gave no timer for the CPU profile
  NotFollowed,    // programs started by a followed one that cannot take the recorder in
  Count,
};
inline constexpr std::size_t kLossCapacity = 32;
static_assert(static_cast<std::size_t>(Loss::Count) <= kLossCapacity);

enum class OnFull : std::uint32_t { Wait = 0, Drop = 1 };

// Why the recorder is not recording.
// MapFailed: there was no memory for the recorder; it has told the user.
enum class OffReason : std::uint32_t { None = 0, CollectorGone, MapFailed, Sanitizer, OwnAllocator, WrittenOver };

// Written by the creator before the program sees the memory; constant from then on.
struct Config {
  std::uint32_t max_depth;
  std::uint32_t free_stacks; // 0: releases carry no stack
  OnFull on_full;
  std::uint32_t slot_count;
  std::uint32_t ring_records;  // in each of the first rings, a power of two; see ring_records_of()
  std::uint32_t table_count;   // intern tables, at most kTableCount
  std::uint32_t node_capacity; // nodes in the node array, at most kNodeCapacity
  std::uint32_t cpu_hz;  // samples of the CPU profile per second of a thread's CPU time; 0: none until the program asks
  std::uint32_t no_heap; // 1: heap events are not recorded
  std::uint32_t contents_reasons; // of ContentsReason, reason_bit(): the recorder asks for a snapshot then
  std::uint32_t no_crash_handler; // 1: what the program dies of is not recorded
  std::uint32_t pad0;
  std::uint64_t contents_signals; // bit N - 1: signal N asks for a snapshot
  std::uint64_t claims;           // offsets from the start of the memory
  std::uint64_t slots;
  std::uint64_t modules;
  std::uint64_t answer;
  std::uint64_t children;
  std::uint64_t nodes;
  std::uint64_t rings;
  std::uint64_t scratch;
  std::uint64_t total_bytes;
};

// A mapping that the recorder has made for itself, beside this memory. Where the kernel keeps no names, /proc/PID/maps shows it like the
// program's own, and perhaps as one with a neighbour.
struct OwnMemory {
  std::atomic<std::uint64_t> begin; // stored last (release); 0: none
  std::atomic<std::uint64_t> bytes;
};
inline constexpr std::size_t kOwnMemories = 32;

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t key; // random, also in the program's environment: the recorder takes no descriptor that lacks it
  Config config;

  // Program's state. `attached` is stored last (release), once, when the fields below it are set.
  alignas(64) std::atomic<std::uint32_t> attached;
  std::atomic<std::uint32_t> pid;
  std::atomic<std::uint32_t> usable_slots;          // whose rings are mapped; fewer when address space was short
  std::atomic<std::uint32_t> off_reason;            // OffReason
  std::atomic<std::uint32_t> clock_is_tsc;          // else CLOCK_MONOTONIC in ns
  std::atomic<std::uint32_t> membarrier_registered; // the collector may use MEMBARRIER_CMD_GLOBAL_EXPEDITED
  std::atomic<std::uint64_t> clock_base_ticks;
  std::atomic<std::uint64_t> clock_base_monotonic_ns; // read together with clock_base_ticks
  std::atomic<std::uint64_t> clock_base_realtime_ns;

  alignas(64) std::atomic<std::uint64_t> module_log_used; // bytes reserved; may pass kModuleLogBytes when it is full

  alignas(64) std::atomic<std::uint64_t> losses[kLossCapacity];

  // Waking each other. The collector sleeps on `wake` after setting `collector_asleep`; threads waiting for space, or for a slot, sleep on
  // `drained`, the number of the collector's rounds (it counts for itself, so nothing written here is for long). It wakes them when
  // `waiting` is not 0.
  alignas(64) std::atomic<std::uint32_t> wake;
  std::atomic<std::uint32_t> collector_asleep;
  alignas(64) std::atomic<std::uint32_t> drained;
  std::atomic<std::uint32_t> waiting;
  // 1 while the collector lives, 2 when it has finished or failed and the program should go on unrecorded.
  std::atomic<std::uint32_t> collector_state;
  // Questions of the program's threads so far, and whether the collector has stopped answering (0: it will, sooner or later).
  std::atomic<std::uint32_t> questions;
  std::atomic<std::uint32_t> answers_ended;
  // A robust, process-shared pthread mutex that the collector's main thread holds for its whole life. Its first word is the
  // kernel's: when the collector dies, however it dies, kCollectorDied is set there, so a waiting program sees it without a
  // system call.
  alignas(64) std::atomic<std::uint32_t> collector_mutex[16];

  // heaptape_where(): one thread at a time asks what is at an address, sleeping on `question`; the collector puts text into the
  // memory at config.answer.
  alignas(64) std::atomic<std::uint32_t> question; // Question
  std::atomic<std::uint32_t> asker;                // the thread that asks; 0: none
  std::atomic<std::uint64_t> asked_address;
  std::atomic<std::uint32_t> answer_bytes;
  std::atomic<std::uint32_t> answer_found; // 1: it is in a block

  alignas(64) ContentsQuestion contents;

  alignas(64) OwnMemory own_memory[kOwnMemories];

  // For programs that this one becomes or starts; written before it attaches, each terminated. `door` is an abstract socket of the
  // collector's without its leading NUL, at which the process knocks after exec; empty: there is none. `tape` is the last part of the
  // tape's path. With `follow_child`, the first program that a child of this process becomes is the one that was meant (`timeout`, `time`).
  alignas(64) char door[kDoorBytes];
  char tape[kTapeNameBytes];
  std::uint32_t follow_child;
  // Written by the program before it becomes a program that cannot be recorded: that one's path, or its name. May not be terminated.
  char became[kTapeNameBytes];
};
static_assert(sizeof(Header) <= kPage);

// Processes that the program made and that are not recorded. This page alone is inherited by a child of fork, which notes itself here.
struct ChildEntry {
  std::atomic<std::uint32_t> pid; // as the program sees it; 0: nothing here; or one of the two below
  std::uint32_t pad0;
  char name[24]; // of the program that it became; may not be terminated; empty: it goes on as the program it was
};
static_assert(sizeof(ChildEntry) == 32);
inline constexpr std::uint32_t kUnknownPid = 0xffff'ffff;
inline constexpr std::uint32_t kForking = 0xffff'fffe; // the child is about to say; or there was none in the end
inline constexpr std::uint32_t kNotedChildren = (kPage - 64) / sizeof(ChildEntry);
struct Children {
  std::atomic<std::uint32_t> made; // entries asked for; those beyond kNotedChildren are only counted
  std::uint32_t pad0[15];
  ChildEntry entries[kNotedChildren];
};
static_assert(sizeof(Children) <= kPage);

// Program: None -> Asked; collector: Asked -> Taken -> Answered; program: Answered -> None.
enum class Question : std::uint32_t { None = 0, Asked = 1, Taken = 2, Answered = 3 };

inline constexpr std::uint32_t kCollectorAlive = 1;
inline constexpr std::uint32_t kCollectorDone = 2;
inline constexpr std::uint32_t kCollectorDied = 0x4000'0000;    // FUTEX_OWNER_DIED
inline constexpr std::uint32_t kCollectorTidMask = 0x3fff'ffff; // FUTEX_TID_MASK

inline constexpr std::uint32_t kDefaultRingRecords = 32768; // a power of two; 768 KiB
inline constexpr std::uint64_t kScratchBytes = std::uint64_t{768} << 10;
inline constexpr std::uint32_t kDefaultSlotCount = 32768;
inline constexpr std::uint32_t kMostSlots = 1U << 16;
inline constexpr std::uint32_t kDefaultMaxDepth = 1024;
inline constexpr std::uint32_t kDeepestStack = 4096; // the largest max_depth

constexpr std::uint64_t round_to_page(std::uint64_t bytes) { return (bytes + kPage - 1) & ~std::uint64_t{kPage - 1}; }

// Rings come in steps. The first kFirstSlots have ring_records each; every later step is as large as all before it together and has rings
// half as long, but not below kFewestRecords: few threads get long rings, and tens of thousands of threads still need little.
//
//   step    slots             records of each    KiB of each    MiB of all (by default)
//   0           0 ..   127    32768              768             96
//   1         128 ..   255    16384              384             48
//   2         256 ..   511     8192              192             48
//   ...                         ...              ...             48
//   6        4096 ..  8191      512               12             48
//   7        8192 .. 16383      512               12             96
//   8       16384 .. 32767      512               12            192
inline constexpr std::uint32_t kFirstSlots = 128;
inline constexpr std::uint32_t kFewestRecords = 512;

constexpr unsigned step_of_slot(std::uint32_t index) {
  return static_cast<unsigned>(std::bit_width(index / kFirstSlots));
}
constexpr std::uint32_t first_slot_of(unsigned step) { return step == 0 ? 0 : kFirstSlots << (step - 1); }
constexpr std::uint32_t ring_records_in(unsigned step, std::uint32_t ring_records) {
  const std::uint32_t fewest = ring_records < kFewestRecords ? ring_records : kFewestRecords;
  const std::uint32_t records = ring_records >> step;
  return records > fewest ? records : fewest;
}
constexpr std::uint64_t ring_bytes_in(unsigned step, std::uint32_t ring_records) {
  return round_to_page(std::uint64_t{ring_records_in(step, ring_records)} * sizeof(Record));
}

// Of slot `index`: how long its ring is, and where it begins, counted from the first one. ring_offset(slots) is what that many rings take.
constexpr std::uint32_t ring_records_of(std::uint32_t index, std::uint32_t ring_records) {
  return ring_records_in(step_of_slot(index), ring_records);
}
constexpr std::uint64_t ring_offset(std::uint32_t index, std::uint32_t ring_records) {
  const unsigned step = step_of_slot(index);
  std::uint64_t offset = 0;
  for (unsigned i = 0; i < step; ++i)
    offset += (first_slot_of(i + 1) - first_slot_of(i)) * ring_bytes_in(i, ring_records);
  return offset + (index - first_slot_of(step)) * ring_bytes_in(step, ring_records);
}

inline constexpr std::uint32_t kSlotsPerClaim = 64; // one bit each
constexpr std::uint32_t claim_words(std::uint32_t slot_count) {
  return (slot_count + kSlotsPerClaim - 1) / kSlotsPerClaim;
}
constexpr std::uint64_t claim_bit(std::uint32_t index) { return std::uint64_t{1} << index % kSlotsPerClaim; }

// The layout for this many slots and records; other fields of Config are left at their defaults. Fewer intern tables save
// address space at the price of fewer stacks.
constexpr Config make_config(std::uint32_t slot_count, std::uint32_t ring_records,
                             std::uint32_t table_count = kTableCount) {
  Config config{};
  config.table_count = table_count;
  config.node_capacity = node_capacity(table_count);
  config.max_depth = kDefaultMaxDepth;
  config.free_stacks = 1;
  config.on_full = OnFull::Wait;
  config.slot_count = slot_count;
  config.ring_records = ring_records;
  config.claims = kPage;
  config.slots = config.claims + round_to_page(std::uint64_t{claim_words(slot_count)} * sizeof(std::uint64_t));
  config.modules = config.slots + round_to_page(std::uint64_t{slot_count} * sizeof(ThreadSlot));
  config.answer = config.modules + kModuleLogBytes;
  config.children = config.answer + kAnswerBytes;
  config.nodes = config.children + kPage;
  config.rings = config.nodes + std::uint64_t{config.node_capacity} * sizeof(StackNode);
  config.scratch = config.rings + ring_offset(slot_count, ring_records);
  config.total_bytes = config.scratch + slot_count * kScratchBytes;
  return config;
}

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

} // namespace heaptape::wire
