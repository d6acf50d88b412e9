// Values of check points as text: numbers, texts, pointers, enumerators, and anything that can be
// written to a std::ostream. Writes into a given buffer and never allocates (except what the program's
// own operator<< does). Internal: see <heaptape/checkpoint.h>.
#ifndef HEAPTAPE_VALUES_H
#define HEAPTAPE_VALUES_H

#include <stdio.h>

#include <cstddef>
#include <iosfwd>
#include <type_traits>
#include <utility>

namespace heaptape {
namespace detail {

// Text that grows up to a limit and always ends with NUL; if something is missing, dots say so.
struct value_text {
  char text[1024];
  std::size_t length = 0;

  void put(char c) {
    if (length + 1 < sizeof text)
      text[length++] = c;
    else
      text[length - 1] = text[length - 2] = text[length - 3] = '.';
  }
  void put(const char* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) put(from[i]);
  }
  const char* c_str() {
    text[length] = '\0';
    return text;
  }
};

template <class T, class = void>
struct is_text : std::false_type {};
template <class T>
struct is_text<T, std::enable_if_t<std::is_convertible_v<decltype(std::declval<const T&>().data()), const char*> &&
                                   std::is_integral_v<decltype(std::declval<const T&>().size())>>> : std::true_type {};

// Without <ostream> a stream is declared but not defined; then nothing can be written to one either.
template <class T, class = void>
struct can_be_streamed : std::false_type {};
template <class T>
struct can_be_streamed<T, std::void_t<decltype(std::declval<std::basic_ostream<char>&>() << std::declval<const T&>())>>
    : std::true_type {};

template <class T, class Char>
void put_streamed(value_text& out, const T& value, Char) {
  // Depends on Char, so that it is compiled only if the program has included what it needs.
  struct buffer : std::basic_streambuf<Char> {
    explicit buffer(value_text& to) : to_(to) {}
    typename std::basic_streambuf<Char>::int_type overflow(typename std::basic_streambuf<Char>::int_type c) override {
      if (c != -1) to_.put(static_cast<char>(c));
      return c == -1 ? 0 : c;
    }
    value_text& to_;
  };
  buffer to(out);
  std::basic_ostream<Char> stream(&to);
  stream << value;
}

template <class Value>
void put_formatted(value_text& out, const char* format, Value value) {
  char text[64];
  const int length = snprintf(text, sizeof text, format, value);
  if (length > 0) out.put(text, static_cast<std::size_t>(length) < sizeof text ? static_cast<std::size_t>(length) : 63);
}

inline void put_text(value_text& out, const char* text) {
  if (text == nullptr) text = "(null)";
  while (*text != '\0') out.put(*text++);
}

template <class T>
void put_value(value_text& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    put_text(out, value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, char>) {
    out.put(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    put_formatted(out, "%g", static_cast<double>(value));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    put_formatted(out, "%lld", static_cast<long long>(value));
  } else if constexpr (std::is_integral_v<T>) {
    put_formatted(out, "%llu", static_cast<unsigned long long>(value));
  } else if constexpr (std::is_convertible_v<const T&, const char*>) {
    put_text(out, value);
  } else if constexpr (is_text<T>::value) {
    out.put(value.data(), static_cast<std::size_t>(value.size()));
  } else if constexpr (std::is_null_pointer_v<T>) {
    put_text(out, "(null)");
  } else if constexpr (std::is_pointer_v<T>) {
    put_formatted(out, "%p", static_cast<const void*>(value));
  } else if constexpr (can_be_streamed<T>::value) {
    put_streamed(out, value, char());
  } else if constexpr (std::is_enum_v<T>) {
    put_value(out, static_cast<std::underlying_type_t<T>>(value));
  } else {
    static_assert(can_be_streamed<T>::value, "a value of a check point needs an operator<< for std::ostream");
  }
}

} // namespace detail
} // namespace heaptape
#endif
