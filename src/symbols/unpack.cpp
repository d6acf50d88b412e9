#include "symbols/unpack.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

namespace heaptape {

namespace {

// zlib cannot do better; what zstd could, no debug section does.
constexpr std::uint64_t kMaxRatio = 1100;
constexpr std::size_t kMaxXzBytes = std::size_t{1} << 30;
constexpr std::uint64_t kMaxXzMemory = std::uint64_t{256} << 20;

// zlib counts in 32 bits, sections in 64.
bool inflate_all(ByteSpan packed, std::byte* out, std::uint64_t size) {
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return false;
  std::uint64_t in_left = packed.size(), out_left = size;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out);
  int result = Z_OK;
  while (result == Z_OK) {
    constexpr std::uint64_t kStep = std::uint64_t{1} << 30;
    const auto in_now = static_cast<uInt>(std::min(in_left, kStep));
    const auto out_now = static_cast<uInt>(std::min(out_left, kStep));
    stream.avail_in = in_now;
    stream.avail_out = out_now;
    result = ::inflate(&stream, Z_NO_FLUSH);
    in_left -= in_now - stream.avail_in;
    out_left -= out_now - stream.avail_out;
    if (result == Z_OK && stream.avail_in == in_now && stream.avail_out == out_now) break; // going nowhere
  }
  ::inflateEnd(&stream);
  return result == Z_STREAM_END && out_left == 0;
}

} // namespace

SectionBytes unpack(Packing packing, ByteSpan packed, std::uint64_t size) {
  if (size == 0 || packed.empty() || size / kMaxRatio > packed.size()) return {};
  auto out = std::make_unique_for_overwrite<std::byte[]>(size);
  const bool whole = packing == Packing::Zlib ? inflate_all(packed, out.get(), size)
                                              : ZSTD_decompress(out.get(), size, packed.data(), packed.size()) == size;
  if (!whole) return {};
  return SectionBytes(std::move(out), size);
}

std::vector<std::byte> unpack_xz(ByteSpan packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&stream, kMaxXzMemory, 0) != LZMA_OK) return {};
  std::vector<std::byte> out;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && out.size() < kMaxXzBytes) {
    const std::size_t before = out.size();
    out.resize(std::max<std::size_t>(before * 2, std::size_t{64} << 10));
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data() + before);
    stream.avail_out = out.size() - before;
    result = ::lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  ::lzma_end(&stream);
  if (result != LZMA_STREAM_END) out.clear();
  return out;
}

} // namespace heaptape
