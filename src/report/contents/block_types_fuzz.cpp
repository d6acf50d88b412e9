// Any bytes as the name of a function or type, and as memory that objects of C++ and Python lie in.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "report/contents/allocated_type.h"
#include "report/contents/object_types.h"
#include "report/contents/python_types.h"
#include "symbols/demangle.h"
#include "symbols/name_parts.h"

namespace {

using namespace heaptape;

// Pages of the input, at addresses that short words can lead to.
class AnyPages : public PageSource {
public:
  static constexpr std::uint64_t kBegin = 0x10000;

  explicit AnyPages(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint64_t pages() const { return bytes_.size() / kPageBytes + 1; }
  std::uint64_t end() const override { return pages() + 1; }
  bool unpack(std::uint64_t page, PageChunk& chunk) const override {
    chunk.first = page;
    chunk.bytes.assign(kPageBytes, {});
    const std::size_t from = std::min((page - 1) * kPageBytes, bytes_.size());
    std::ranges::copy(std::as_bytes(bytes_.subspan(from, std::min(bytes_.size() - from, kPageBytes))),
                      chunk.bytes.begin());
    return true;
  }

private:
  std::span<const std::uint8_t> bytes_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 10'000));
  HT_CHECK(name_parts(name).size() <= 64);
  (void)allocated_type(name);
  (void)container_of(name);
  (void)pointed_type(object_type(name));
  (void)short_type(name);

  const AnyPages pages(std::span(data, size));
  const std::uint64_t begin = AnyPages::kBegin, end = begin + pages.pages() * kPageBytes;
  const MemoryImage image({{begin, end, PageState::Stored, 1}}, pages);
  MemoryCursor cursor(image);
  const BlockRanks ranks = BlockRanks::of({{begin, 64, 0}, {begin + 128, 4000, 0}}).value();
  PythonTypes python(cursor);
  python.set_blocks(ranks);
  for (std::uint64_t at = begin; at < std::min(end, begin + 512); at += 8) {
    (void)class_by_type_info(cursor, cursor.word(at).value_or(0));
    PythonTypes::Head head{};
    cursor.read(at, std::as_writable_bytes(std::span(head)));
    if (const auto object = python.object_in(head, 4000)) HT_CHECK(!object->type->empty());
  }
  return 0;
}
