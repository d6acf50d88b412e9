// Bytes of a section of an ELF file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace heaptape {

using ByteSpan = std::span<const std::byte>;

// Bytes in place, or bytes of its own.
class SectionBytes {
public:
  SectionBytes() = default;
  explicit SectionBytes(ByteSpan in_place) : view_(in_place) {}
  SectionBytes(std::unique_ptr<std::byte[]> owned, std::size_t size)
      : view_(owned.get(), size), owned_(std::move(owned)) {}

  ByteSpan view() const { return view_; }

private:
  ByteSpan view_;
  std::unique_ptr<std::byte[]> owned_;
};

} // namespace heaptape
