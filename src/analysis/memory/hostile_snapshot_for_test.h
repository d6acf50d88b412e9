// A snapshot made of bytes that mean nothing, gone through from end to end: nothing may crash, hang or read what is not there.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/memory/dominators.h"
#include "analysis/memory/glibc_arena.h"
#include "analysis/memory/glibc_heap.h"
#include "analysis/memory/paths.h"
#include "analysis/memory/reachability.h"
#include "analysis/memory/references.h"

namespace heaptape {

class HostileSnapshot : public PageSource {
public:
  explicit HostileSnapshot(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    pages_ = take() % 32;
    content_ = bytes_;
    while (!bytes_.empty() && runs_.size() < 64) add_anything();
  }

  void go_through() const {
    const FilePages files = [](std::uint64_t address, std::span<std::byte>) { return address % 3 != 0; };
    const MemoryImage image(runs_, *this, files);
    const auto ranks = BlockRanks::of(blocks_);
    RootFacts facts;
    facts.regions = regions_;
    facts.names = names_;
    facts.threads = threads_;
    facts.arenas = ranges_;
    facts.excluded = {{words_[0], words_[1]}};
    facts.stacks = {{words_[2], words_[3]}};
    facts.own = ranges_;
    const PointerForm form{.mask = ~std::uint64_t{} >> pages_, .shift = static_cast<unsigned>(pages_ % 5)};
    auto graph = ReferenceGraph::of(
        image, ranks.value(),
        {.threads = 1 + static_cast<unsigned>(pages_ % 2), .form = form, .cpython = pages_ % 3 == 0});
    const Roots roots = Roots::of(facts, image, ranks.value(), form);
    const HeapView heap{image, ranks.value(), graph.value(), roots, threads_};
    const KnownPlaces known = KnownPlaces::of(heap, vtables_in(regions_, names_));
    known.mark(ranks.value(), graph.value());
    const Reachability reach = Reachability::of(heap, known);
    const Dominators dominators = Dominators::of(heap);
    const DominatorChildren children(dominators);
    const ShortestPaths paths(heap);
    for (std::uint32_t block = 0; block < std::min<std::uint32_t>(ranks.value().size(), 50); ++block) {
      (void)reach.class_of(block);
      (void)paths.to(block);
      (void)references_to(heap, {ranks.value().begin(block), ranks.value().end(block), block % 2 == 0, 100});
    }
    (void)children.largest(Dominators::kRoot, 5);
    GlibcFacts glibc;
    glibc.threads = threads_;
    glibc.main_arena = words_[0];
    glibc.heap_begin = words_[1];
    glibc.heap_end = words_[2];
    glibc.may_be_allocating = [](const ThreadState& thread) { return thread[ThreadState::Rax] % 2 != 0; };
    (void)check_glibc_heap(image, ranks.value(), glibc);
    MemoryCursor cursor(image);
    (void)find_main_arena(cursor, words_[2], words_[3]);
    (void)cursor.text(words_[0], 1000);
  }

  std::uint64_t end() const override { return pages_; }
  // Contents are the input itself, again and again.
  bool unpack(std::uint64_t page, PageChunk& chunk) const override {
    if (page % 7 == 6 || content_.empty()) return false;
    chunk.first = page % 5 == 0 ? page : page - page % 5;
    chunk.bytes.resize(kPageBytes * (page - chunk.first + 1));
    for (std::size_t at = 0; at < chunk.bytes.size(); ++at)
      chunk.bytes[at] = static_cast<std::byte>(content_[(at + chunk.first) % content_.size()]);
    return true;
  }

private:
  std::uint8_t take() {
    if (bytes_.empty()) return 0;
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  // Mostly small numbers, so that things meet; now and then any.
  std::uint64_t number() {
    const std::uint8_t kind = take();
    std::uint64_t value = 0;
    for (int i = 0; i < (kind < 16 ? 8 : 2); ++i) value = value << 8 | take();
    return kind < 16 ? value : kind < 128 ? value : value << 8;
  }
  std::uint64_t page() { return number() & ~(kPageBytes - 1); }
  void add_anything() {
    switch (take() % 6) {
    case 0: {
      PageRun run{page(), page(), static_cast<PageState>(take() % kPageStates), take()};
      if (take() % 16 == 0) run.value = number();
      // A run of repeated words may be endless; a stored one is as long as there are addresses, which tests need not wait for.
      if (run.state != PageState::Fill) run.end = std::min(run.end, run.begin + (std::uint64_t{1} << 24));
      runs_.push_back(run);
      break;
    }
    case 1:
    case 2: blocks_.push_back({number(), number(), take()}); break;
    case 3:
      regions_.push_back(
          {page(), page(), 0, static_cast<std::uint32_t>(take() % 8), static_cast<std::uint8_t>(take() % 16)});
      break;
    case 4: {
      ThreadState& thread = threads_.emplace_back();
      thread.stopped = take() % 8 != 0;
      for (const auto which : {ThreadState::Rsp, ThreadState::FsBase, ThreadState::Rax})
        thread.registers[which] = number();
      thread.extended.resize(take() * 4u);
      break;
    }
    default: words_[take() % 4] = number(); ranges_.push_back({number(), number()});
    }
  }

  std::span<const std::uint8_t> bytes_, content_;
  std::uint64_t pages_ = 0;
  std::vector<PageRun> runs_;
  std::vector<HeapBlock> blocks_;
  std::vector<MappedRange> regions_;
  std::vector<ThreadState> threads_;
  std::vector<RootArea> ranges_;
  std::array<std::uint64_t, 4> words_{};
  std::vector<std::string> names_{"",         "/bin/victim",    "[stack]", "[heap]", "/lib/libc.so.6",
                                  "[anon:x]", "/memfd:heaptape"};
};

} // namespace heaptape
