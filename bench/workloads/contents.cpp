// contents WHAT MB RATE BOARD: a heap whose memory is to be copied, and somebody who uses it.
//   nodes   small nodes that refer to each other; RATE times a second one of them, on a random page, is written to
//   churn   nothing but malloc, memset and free
//   maps    std::map and std::unordered_map of strings and random numbers
//   objects a program's own classes: polymorphic, shared, unique, in maps and lists
// BOARD is a file both sides map: what the program says of itself, and what it is asked for.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "keep.h"

namespace {

using bench::Random;

// As bench/contents reads it.
struct Board {
  std::atomic<std::uint64_t> ready;   // the heap is built
  std::atomic<std::uint64_t> work;    // units done since
  std::atomic<std::uint64_t> writes;  // pages written to since
  std::atomic<std::uint64_t> wanted;  // forks asked for
  std::atomic<std::uint64_t> forks;   // and made
  std::atomic<std::uint64_t> fork_us; // how long the last one took
  std::atomic<std::uint64_t> change;  // this many pages, side by side, are to be written to once; 0 afterwards
};

struct Node {
  Node* left;
  Node* right;
  std::uint64_t key;
  std::uint64_t numbers[6];
  char text[24];
};

std::uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

Board& open_board(const char* path) {
  const int file = ::open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ::ftruncate(file, 4096) != 0) std::exit(1);
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) std::exit(1);
  return *static_cast<Board*>(memory);
}

// As the kernel does it, without what libraries do around it.
void fork_once(Board& board) {
  const std::uint64_t before = now_ns();
  const long child = ::syscall(SYS_fork);
  if (child == 0) ::_exit(0);
  board.fork_us = (now_ns() - before) / 1000;
  while (::waitpid(static_cast<pid_t>(child), nullptr, 0) < 0) {}
  ++board.forks;
}

[[noreturn]] void use_nodes(Board& board, std::vector<Node*>& nodes, std::uint64_t rate) {
  Random random(7);
  std::uint64_t due = now_ns();
  board.ready = 1;
  while (true) {
    if (board.forks < board.wanted) fork_once(board);
    if (const std::uint64_t pages = board.change) {
      for (std::uint64_t i = 0; i < pages && i * 40 < nodes.size(); ++i) nodes[i * 40]->key += 1; // nearly 40 to a page
      board.change = 0;
    }
    if (rate == 0) {
      ::usleep(1000);
      continue;
    }
    // A unit of work that needs no memory, and what is due meanwhile.
    std::uint64_t unit = 0;
    for (int i = 0; i < 200; ++i) unit += random.below(1000);
    bench::keep(&unit);
    ++board.work;
    for (const std::uint64_t time = now_ns(); due <= time; due += 1'000'000'000 / rate) {
      ++nodes[random.below(nodes.size())]->key;
      ++board.writes;
    }
  }
}

[[noreturn]] void run_nodes(Board& board, std::uint64_t bytes, std::uint64_t rate) {
  Random random(4);
  std::vector<Node*> nodes;
  for (std::uint64_t total = 0; total < bytes; total += sizeof(Node) + 16) {
    auto* const node = static_cast<Node*>(std::malloc(sizeof(Node)));
    if (node == nullptr) std::exit(1);
    node->left = nodes.empty() ? nullptr : nodes[random.below(nodes.size())];
    node->right = nodes.empty() ? nullptr : nodes.back();
    node->key = nodes.size();
    for (std::uint64_t& number : node->numbers) number = random.below(1 << 16);
    std::snprintf(node->text, sizeof node->text, "item %zu", nodes.size());
    nodes.push_back(node);
  }
  use_nodes(board, nodes, rate);
}

[[noreturn]] void run_churn(Board& board, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = 256 << 10;
  Random random(5);
  std::vector<char*> blocks(bytes / (kMost / 2));
  for (std::uint64_t i = 0;; ++i) {
    if (board.forks < board.wanted) fork_once(board);
    char*& block = blocks[random.below(blocks.size())];
    std::free(block);
    const std::size_t size = 1 + random.below(kMost);
    block = static_cast<char*>(std::malloc(size));
    if (block != nullptr) std::memset(block, static_cast<int>(i), size);
    ++board.work;
    if (i == blocks.size() * 4) board.ready = 1;
  }
}

[[noreturn]] void run_maps(Board& board, std::uint64_t bytes) {
  Random random(6);
  std::map<std::uint64_t, std::string> by_number;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_name;
  for (std::uint64_t total = 0; total < bytes; total += 400) {
    const std::uint64_t number = random.below(1'000'000'000);
    std::string name = "account/" + std::to_string(number) + "/balance";
    by_name[name].assign(4 + random.below(12), static_cast<std::uint32_t>(number));
    by_number[number] = std::move(name);
  }
  board.ready = 1;
  while (true) ::usleep(1000);
}

struct Event {
  virtual ~Event() = default;
  std::uint64_t at = 0;
  double weight = 1;
};

struct Order final : Event {
  std::string customer = "a customer whose name is of some length";
  double price = 10;
};

struct Payment final : Event {
  std::uint64_t amounts[10]{};
};

struct Entry {
  std::uint64_t number;
  Entry* earlier;
  char state[40];
};

[[noreturn]] void run_objects(Board& board, std::uint64_t bytes) {
  Random random(8);
  std::map<std::uint64_t, std::string> notes;
  std::unordered_map<std::uint64_t, std::shared_ptr<Event>> events;
  std::vector<std::unique_ptr<Entry>> entries;
  std::list<Payment> payments;
  for (std::uint64_t total = 0; total < bytes; total += 720) {
    for (int i = 0; i < 2; ++i)
      notes[random.next()] = "this is the note number " + std::to_string(random.below(100'000'000));
    std::shared_ptr<Event>& event = events[random.next()];
    if (random.below(2) == 0)
      event = std::make_shared<Order>();
    else
      event = std::make_shared<Payment>();
    event->at = entries.size();
    for (int i = 0; i < 2; ++i) {
      Entry* const earlier = entries.empty() ? nullptr : entries[random.below(entries.size())].get();
      entries.push_back(std::make_unique<Entry>(Entry{entries.size(), earlier, "open"}));
    }
    payments.emplace_back();
  }
  board.ready = 1;
  while (true) ::usleep(1000);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Board& board = open_board(argv[4]);
  const std::string what = argv[1];
  const std::uint64_t bytes = std::strtoull(argv[2], nullptr, 10) << 20;
  if (what == "nodes") run_nodes(board, bytes, std::strtoull(argv[3], nullptr, 10));
  if (what == "churn") run_churn(board, bytes);
  if (what == "maps") run_maps(board, bytes);
  if (what == "objects") run_objects(board, bytes);
  return 2;
}
