#include "tape/compression.h"

#include <zstd.h>

#include "base/check.h"

namespace heaptape {

namespace {
constexpr int kLevel = 1;
}

void Compressor::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void Decompressor::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

Compressor::Compressor() : context_(ZSTD_createCCtx()) { HT_CHECK(context_ != nullptr); }
Decompressor::Decompressor() : context_(ZSTD_createDCtx()) { HT_CHECK(context_ != nullptr); }

bool Compressor::append(std::span<const std::byte> raw, std::vector<std::byte>& out, std::uint64_t max_ratio) {
  const std::size_t before = out.size();
  out.resize(before + ZSTD_compressBound(raw.size()));
  const std::size_t stored =
      ZSTD_compressCCtx(context_.get(), out.data() + before, out.size() - before, raw.data(), raw.size(), kLevel);
  HT_CHECK(ZSTD_isError(stored) == 0);
  const bool worth_it = stored < raw.size() && raw.size() <= stored * max_ratio;
  out.resize(worth_it ? before + stored : before);
  return worth_it;
}

bool Decompressor::fill(std::span<const std::byte> stored, std::span<std::byte> raw) {
  // Without this check a frame could ask for a large window before it fails.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != raw.size()) return false;
  const std::size_t filled = ZSTD_decompressDCtx(context_.get(), raw.data(), raw.size(), stored.data(), stored.size());
  return ZSTD_isError(filled) == 0 && filled == raw.size();
}

} // namespace heaptape
