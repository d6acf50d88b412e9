#include "check_objects.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#define NOINLINE [[gnu::noinline]]

namespace {

template <class T>
T* unseen(T* pointer) {
  return static_cast<T*>(hidden(pointer));
}

// Writes to a place, and says so: the line has the place's address.
template <class T>
NOINLINE void write_to(const twin& twin, T* place) {
  say(&twin, place, sizeof(T));
  *static_cast<volatile T*>(unseen(place)) = static_cast<T>(0x41414141);
}

NOINLINE void vector_past_end(const twin& twin) {
  std::vector<int> numbers(25);
  write_to(twin, numbers.data() + (twin.bad ? 25 : 24));
}
NOINLINE void vector_before_begin(const twin& twin) {
  std::vector<long> numbers(9);
  write_to(twin, numbers.data() - (twin.bad ? 1 : 0));
}
NOINLINE void vector_that_grew(const twin& twin) {
  std::vector<int> numbers(10);
  int* const before = unseen(&numbers[3]);
  numbers.resize(1000);
  write_to(twin, twin.bad ? before : &numbers[3]);
}
NOINLINE void vector_emptied(const twin& twin) {
  std::vector<int> numbers(10);
  int* const element = unseen(&numbers[3]);
  if (twin.bad) {
    numbers.clear();
    numbers.shrink_to_fit();
  }
  write_to(twin, element);
}
NOINLINE void string_past_end(const twin& twin) {
  std::string text(47, 'B');
  text.shrink_to_fit();
  write_to(twin, text.data() + (twin.bad ? text.capacity() + 1 : text.size() - 1));
}
NOINLINE void string_that_grew(const twin& twin) {
  std::string text(40, 'B');
  char* const before = unseen(text.data());
  if (twin.bad) text.append(500, 'C');
  write_to(twin, before + 39);
}
NOINLINE void unique_array(const twin& twin) {
  const auto numbers = std::make_unique<short[]>(33);
  write_to(twin, numbers.get() + (twin.bad ? 33 : 32));
}
NOINLINE void list_erased(const twin& twin) {
  std::list<int> numbers = {1, 2, 3};
  int* const first = unseen(&numbers.front());
  if (twin.bad) numbers.pop_front();
  write_to(twin, first);
}
NOINLINE void map_erased(const twin& twin) {
  std::map<int, int> numbers = {{1, 1}, {2, 2}, {3, 3}};
  int* const second = unseen(&numbers.at(2));
  if (twin.bad) numbers.erase(2);
  write_to(twin, second);
}
NOINLINE void hash_erased(const twin& twin) {
  std::unordered_map<std::string, long> numbers = {{"one", 1}, {"two", 2}};
  long* const two = unseen(&numbers.at("two"));
  if (twin.bad) numbers.clear();
  write_to(twin, two);
}

struct Plain {
  int numbers[30];
};
struct Counted {
  int number = 0;
  ~Counted() { number = 0; }
};
struct alignas(64) Aligned {
  int numbers[16];
};
struct Named {
  int id;
  char name[12];
};
struct Base {
  int one = 1;
};
struct Derived : Base {
  int more[20] = {};
};
struct Shape {
  virtual ~Shape() = default;
  virtual void grow(const twin& twin) { write_to(twin, &size_); }
  int size_ = 0;
};
struct Circle : Shape {
  void close(const twin& twin) {
    Circle* const self = unseen(this);
    if (twin.bad) delete self;
    write_to(twin, &self->radius);
    if (!twin.bad) delete self;
  }
  int radius = 0;
};

NOINLINE void shared_expired(const twin& twin) {
  auto plain = std::make_shared<Plain>();
  int* const number = unseen(&plain->numbers[7]);
  if (twin.bad) plain.reset();
  write_to(twin, number);
}
NOINLINE void moved_owner(const twin& twin) {
  auto first = std::make_unique<Plain>();
  Plain* const plain = unseen(first.get());
  {
    const auto second = std::move(first);
    if (!twin.bad) write_to(twin, &plain->numbers[29]);
  }
  if (twin.bad) write_to(twin, &plain->numbers[29]);
}
NOINLINE void deletes_itself(const twin& twin) { (new Circle)->close(twin); }
NOINLINE void captured(const twin& twin) {
  auto shape = std::make_unique<Shape>();
  const std::function<void()> later = [&twin, size = unseen(&shape->size_)] { write_to(twin, size); };
  if (twin.bad) shape.reset();
  later();
}
NOINLINE void thrown_through(const twin& twin) {
  int* number = nullptr;
  try {
    const auto plain = std::make_unique<Plain>();
    number = unseen(&plain->numbers[2]);
    if (twin.bad) throw std::runtime_error("leaves the scope");
    write_to(twin, number);
  } catch (const std::runtime_error&) {
    write_to(twin, number);
  }
}
NOINLINE void late_thread(const twin& twin) {
  auto plain = std::make_unique<Plain>();
  int* const number = unseen(&plain->numbers[0]);
  if (twin.bad) plain.reset();
  std::thread([&] { write_to(twin, number); }).join();
}
NOINLINE void matrix(const twin& twin) {
  std::vector<std::unique_ptr<double[]>> rows;
  for (int i = 0; i < 5; ++i) rows.push_back(std::make_unique<double[]>(7));
  say(&twin, rows[4].get() + (twin.bad ? 7 : 6), sizeof(double));
  for (int i = 0; i < (twin.bad ? 8 : 7); ++i) static_cast<volatile double*>(unseen(rows[4].get()))[i] = 1.5;
}
NOINLINE void array_with_count(const twin& twin) {
  const auto objects = std::make_unique<Counted[]>(6);
  write_to(twin, &unseen(objects.get())[twin.bad ? 6 : 5].number);
}
NOINLINE void aligned_object(const twin& twin) {
  auto* const object = new Aligned;
  write_to(twin, unseen(object)->numbers + (twin.bad ? 16 : 15));
  delete object;
}
NOINLINE void name_too_long(const twin& twin) {
  auto* const named = unseen(new Named);
  say(&twin, named->name + (twin.bad ? 12 : 11), 1);
  std::strcpy(static_cast<char*>(hidden(named->name)), twin.bad ? "twelve chars" : "eleven char");
  delete named;
}

// Releases: the line has the address that is released and the size of the block.
NOINLINE void two_owners(const twin& twin) {
  auto* const plain = unseen(new Plain);
  say(&twin, plain, sizeof(Plain));
  const std::unique_ptr<Plain> one(plain);
  const std::unique_ptr<Plain> two(twin.bad ? unseen(plain) : nullptr);
}
NOINLINE void two_counts(const twin& twin) {
  auto* const plain = unseen(new Plain);
  say(&twin, plain, sizeof(Plain));
  const std::shared_ptr<Plain> one(plain);
  const std::shared_ptr<Plain> two = twin.bad ? std::shared_ptr<Plain>(unseen(plain)) : one;
}
NOINLINE void base_without_virtual(const twin& twin) {
  auto* const derived = new Derived;
  say(&twin, derived, sizeof(Derived));
  if (twin.bad)
    delete unseen(static_cast<Base*>(derived));
  else
    delete unseen(derived);
}
NOINLINE void array_by_delete(const twin& twin) {
  auto* const plain = unseen(new Plain[3]);
  say(&twin, plain, 3 * sizeof(Plain));
  if (twin.bad)
    ::operator delete(hidden(plain));
  else
    delete[] plain;
}
NOINLINE void array_with_count_by_free(const twin& twin) {
  auto* const objects = unseen(new Counted[5]);
  say(&twin, objects, 5 * sizeof(Counted) + sizeof(std::size_t));
  if (twin.bad)
    std::free(hidden(objects));
  else
    delete[] objects;
}
NOINLINE void placed(const twin& twin) {
  char* const room = unseen(new char[sizeof(Plain)]);
  say(&twin, room, sizeof(Plain));
  auto* const plain = new (room) Plain;
  if (twin.bad)
    delete unseen(plain);
  else
    delete[] room;
}
NOINLINE void aligned_by_free(const twin& twin) {
  auto* const object = unseen(new Aligned);
  say(&twin, object, sizeof(Aligned));
  if (twin.bad)
    std::free(hidden(object));
  else
    delete object;
}
NOINLINE void local_object(const twin& twin) {
  Plain local{};
  auto* const plain = unseen(new Plain);
  say(&twin, twin.bad ? &local : plain, sizeof(Plain));
  delete plain;
  if (twin.bad) delete unseen(&local);
}
Plain g_plain;
NOINLINE void global_object(const twin& twin) {
  auto* const plain = unseen(new Plain);
  say(&twin, twin.bad ? &g_plain : plain, sizeof(Plain));
  delete plain;
  if (twin.bad) delete unseen(&g_plain);
}

} // namespace

bool run_object(const twin& twin) {
  static constexpr struct {
    const char* name;
    void (*run)(const struct twin&);
  } kCases[] = {{"vector_past_end", vector_past_end},
                {"vector_before_begin", vector_before_begin},
                {"vector_that_grew", vector_that_grew},
                {"vector_emptied", vector_emptied},
                {"string_past_end", string_past_end},
                {"string_that_grew", string_that_grew},
                {"unique_array", unique_array},
                {"list_erased", list_erased},
                {"map_erased", map_erased},
                {"hash_erased", hash_erased},
                {"shared_expired", shared_expired},
                {"moved_owner", moved_owner},
                {"deletes_itself", deletes_itself},
                {"captured", captured},
                {"thrown_through", thrown_through},
                {"late_thread", late_thread},
                {"matrix", matrix},
                {"array_with_count", array_with_count},
                {"aligned_object", aligned_object},
                {"name_too_long", name_too_long},
                {"two_owners", two_owners},
                {"two_counts", two_counts},
                {"base_without_virtual", base_without_virtual},
                {"array_by_delete", array_by_delete},
                {"array_with_count_by_free", array_with_count_by_free},
                {"placed", placed},
                {"aligned_by_free", aligned_by_free},
                {"local_object", local_object},
                {"global_object", global_object}};
  if (std::strcmp(twin.words[0], "object") != 0) return false;
  for (const auto& one : kCases) {
    if (std::strcmp(one.name, twin.words[1]) == 0) return one.run(twin), true;
  }
  return false;
}
