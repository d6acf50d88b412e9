// zstd, with its working memory kept between calls. One thread at a time per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace heaptape {

// Level 1: higher levels gain less than 2 % on what tapes hold, and the collector has to keep up with the program.
class Compressor {
public:
  Compressor();

  // Appends the compressed form of `raw` to `out` when it is smaller than `raw` (and by no more than a factor of
  // `max_ratio`), else leaves `out` alone and returns false.
  bool append(std::span<const std::byte> raw, std::vector<std::byte>& out, std::uint64_t max_ratio = ~std::uint64_t{0});

private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class Decompressor {
public:
  Decompressor();

  // Fills `raw` from one zstd frame that holds exactly that many bytes; false when it does not.
  bool fill(std::span<const std::byte> stored, std::span<std::byte> raw);

private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

} // namespace heaptape
