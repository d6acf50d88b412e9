#include "analysis/memory/reference_graph.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/memory/block_walk.h"
#include "analysis/memory/python_objects.h"

namespace heaptape {

namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kMostEdges = ~std::uint32_t{};
constexpr unsigned kMostThreads = 64;
constexpr unsigned kTasksPerThread = 16;
constexpr std::uint64_t kCountedTogether = 1 << 16;

// The edges of neighbouring blocks.
struct Part {
  TableVector<std::uint32_t> to{};
  TableVector<std::uint32_t> interior{}; // numbers of edges in `to`, and where they lead
  TableVector<std::uint32_t> offsets{};
};

} // namespace

class GraphMaker {
public:
  GraphMaker(const MemoryImage& image, const BlockRanks& ranks, const GraphOptions& options)
      : image_(image), ranks_(ranks), options_(options) {}

  Result<ReferenceGraph> make() {
    graph_.options_ = options_;
    graph_.first_.resize(std::size_t{ranks_.size()} + 1);
    const unsigned threads = std::clamp(options_.threads, 1u, kMostThreads);
    const std::size_t tasks = threads == 1 ? 1 : threads * kTasksPerThread;
    parts_.resize(tasks);
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& other : others) other.join();
    if (edges_ >= kMostEdges)
      return Error{ErrorCode::Unsupported,
                   "there are more than 4,294,967,294 references between live blocks, too many to follow"};
    join();
    return std::move(graph_);
  }

private:
  void work() {
    MemoryCursor cursor(image_);
    PythonObjects objects(image_, ranks_);
    const std::uint64_t blocks = ranks_.size();
    for (std::size_t task; (task = next_.fetch_add(1)) < parts_.size();) {
      const auto begin = static_cast<std::uint32_t>(blocks * task / parts_.size());
      const auto end = static_cast<std::uint32_t>(blocks * (task + 1) / parts_.size());
      extract(cursor, objects, begin, end, parts_[task]);
    }
  }

  void extract(MemoryCursor& cursor, PythonObjects& objects, std::uint32_t from, std::uint32_t till, Part& part) {
    WordBatch batch(ranks_, options_.form, [&](std::uint64_t source, std::uint32_t target, std::uint64_t offset) {
      if (source == target) return;
      ++graph_.first_[source]; // the number of its edges, for the time being
      if (offset != 0) {
        part.interior.push_back(static_cast<std::uint32_t>(part.to.size()));
        part.offsets.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(offset, ~std::uint32_t{})));
      }
      part.to.push_back(target);
    });
    std::uint64_t counted = 0;
    const auto all = [](std::uint32_t) { return true; };
    walk_blocks(cursor, ranks_, from, till, all,
                [&](std::uint32_t block, std::uint64_t address, std::span<const std::byte> bytes) {
                  scan(batch, objects, block, address, bytes);
                  if (part.to.size() - counted < kCountedTogether) return true;
                  const std::uint64_t added = part.to.size() - counted;
                  counted += added;
                  return edges_.fetch_add(added) + added < kMostEdges;
                });
    batch.drain();
    edges_ += part.to.size() - counted;
  }

  template <class Batch>
  void scan(Batch& batch, PythonObjects& objects, std::uint32_t block, std::uint64_t address,
            std::span<const std::byte> bytes) {
    PythonObjects::Watched object;
    if (options_.cpython && address == ranks_.begin(block) && address % kWord == 0) object = objects.watched_in(bytes);
    for (std::size_t at = -address % kWord; at + kWord <= bytes.size(); at += kWord) {
      if ((at >= object.links && at - object.links < PythonObjects::kLinkBytes) || at == object.weak) continue;
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + at, kWord);
      if (object.is_kept && ranks_.maybe(word) && objects.references_at(word) != 0) continue;
      batch.look(word, block);
    }
  }

  void join() {
    std::uint32_t sum = 0;
    for (std::uint32_t& first : graph_.first_) sum += std::exchange(first, sum);
    graph_.kinds_.resize((std::size_t{sum} + ReferenceGraph::kPerWord - 1) / ReferenceGraph::kPerWord);
    std::uint32_t done = 0;
    for (Part& part : parts_) {
      for (const std::uint32_t edge : part.interior) {
        const std::uint32_t number = done + edge;
        graph_.kinds_[number / ReferenceGraph::kPerWord] |= static_cast<std::uint64_t>(EdgeKind::Inside)
                                                            << number % ReferenceGraph::kPerWord * 2;
      }
      done += static_cast<std::uint32_t>(part.to.size());
      part.interior = {};
    }
    if (parts_.size() == 1) {
      graph_.to_ = std::move(parts_[0].to);
      graph_.offsets_ = std::move(parts_[0].offsets);
      return;
    }
    graph_.to_.reserve(sum);
    for (Part& part : parts_) {
      graph_.to_.insert(graph_.to_.end(), part.to.begin(), part.to.end());
      graph_.offsets_.insert(graph_.offsets_.end(), part.offsets.begin(), part.offsets.end());
      part = {};
    }
  }

  const MemoryImage& image_;
  const BlockRanks& ranks_;
  const GraphOptions options_;
  ReferenceGraph graph_;
  std::vector<Part> parts_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::uint64_t> edges_ = 0;
};

Result<ReferenceGraph> ReferenceGraph::of(const MemoryImage& image, const BlockRanks& ranks,
                                          const GraphOptions& options) {
  return GraphMaker(image, ranks, options).make();
}

} // namespace heaptape
