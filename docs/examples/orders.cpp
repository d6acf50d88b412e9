// A small shop with five ordinary memory problems, for the README and for trying heaptape out:
//
//   g++ -g -O1 docs/examples/orders.cpp -o orders && heaptape record ./orders && heaptape report
//
//   leak      every tenth session and its basket hold each other, so neither goes away
//   peak      a report over all orders is sorted as a copy
//   RSS       a page cache is mapped and filled, outside the heap
//   churn     each line of input is cut into strings that live for microseconds
//   dangling  the printed address belonged to a basket, and was freed and used again
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Session;
struct Basket {
  std::shared_ptr<Session> owner; // should be a weak_ptr
  char goods[1000];
};
struct Session {
  std::string user;
  std::shared_ptr<Basket> basket;
};
struct Order {
  std::string customer;
  int number;
  double total;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words; // grows one by one
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(';', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Order parse(const std::string& line) {
  const std::vector<std::string> words = split(line);
  return {words[0], std::stoi(words[1]), std::stod(words[2])};
}

std::vector<Order> load_orders(int count) {
  std::vector<Order> orders;
  for (int i = 0; i < count; ++i)
    orders.push_back(parse("customer number " + std::to_string(i % 977) + " of the shop;" + std::to_string(i) + ";12.50;paid;sent"));
  return orders;
}

void serve(int number) {
  auto session = std::make_shared<Session>();
  session->user = "a visitor with number " + std::to_string(number);
  session->basket = std::make_shared<Basket>();
  if (number % 10 == 0) session->basket->owner = session;
}

double best_total(const std::vector<Order>& orders) {
  std::vector<Order> sorted = orders; // a copy of everything
  std::sort(sorted.begin(), sorted.end(), [](const Order& a, const Order& b) { return a.total > b.total; });
  return sorted.front().total;
}

char* fill_page_cache(std::size_t bytes) {
  char* const pages =
      static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(pages, 1, bytes);
  return pages;
}

Basket* last_sold = nullptr;
void sell() {
  const auto basket = std::make_unique<Basket>();
  last_sold = basket.get(); // freed at the end of this function
}

int main() {
  const std::vector<Order> orders = load_orders(50'000);
  for (int i = 0; i < 20'000; ++i) serve(i);
  std::printf("best order: %.2f\n", best_total(orders));
  const char* const pages = fill_page_cache(24 << 20);
  sell();
  const auto next = std::make_unique<Basket>();
  std::printf("last basket sold: %p, page cache: %p, next basket: %p\n", static_cast<void*>(last_sold),
              static_cast<const void*>(pages), static_cast<const void*>(next.get()));
}
