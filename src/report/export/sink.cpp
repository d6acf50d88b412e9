#include "report/export/sink.h"

#include <zlib.h>
#include <zstd.h>

#include <array>

namespace heaptape {

class Sink::Packer {
public:
  Packer() = default;
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  virtual ~Packer() = default;
  virtual Result<> pack(std::string_view bytes, bool last, const WriteBytes& write) = 0;
};

class Sink::GzipPacker final : public Sink::Packer {
public:
  GzipPacker() {
    constexpr int kGzipHeader = 16; // added to the window's bits
    HT_CHECK(deflateInit2(&stream_, 6, Z_DEFLATED, MAX_WBITS + kGzipHeader, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~GzipPacker() override { deflateEnd(&stream_); }

  Result<> pack(std::string_view bytes, bool last, const WriteBytes& write) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); // zlib only reads it
    stream_.avail_in = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
      stream_.avail_out = static_cast<uInt>(room_.size());
      status = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      const std::size_t made = room_.size() - stream_.avail_out;
      if (made == 0) continue;
      if (Result<> written = write({room_.data(), made}); !written) return written;
    } while (last ? status != Z_STREAM_END : stream_.avail_out == 0);
    return Unit{};
  }

private:
  z_stream stream_{};
  std::array<char, std::size_t{64} << 10> room_;
};

class Sink::ZstdPacker final : public Sink::Packer {
public:
  ZstdPacker() : context_(ZSTD_createCCtx()) { HT_CHECK(context_ != nullptr); }
  ~ZstdPacker() override { ZSTD_freeCCtx(context_); }

  Result<> pack(std::string_view bytes, bool last, const WriteBytes& write) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer out{room_.data(), room_.size(), 0};
      left = ZSTD_compressStream2(context_, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      HT_CHECK(ZSTD_isError(left) == 0);
      if (out.pos == 0) continue;
      if (Result<> written = write({room_.data(), out.pos}); !written) return written;
    } while (last ? left != 0 : in.pos < in.size);
    return Unit{};
  }

private:
  ZSTD_CCtx* context_;
  std::array<char, std::size_t{128} << 10> room_;
};

Sink::Sink(WriteBytes write, Packing packing) : write_(std::move(write)) {
  if (packing == Packing::Gzip) packer_ = std::make_unique<GzipPacker>();
  if (packing == Packing::Zstd) packer_ = std::make_unique<ZstdPacker>();
}

Sink::~Sink() = default;

void Sink::flush(bool last) {
  const std::string_view bytes(buffer_.data(), buffer_.size());
  if (state_.ok() && packer_) {
    state_ = packer_->pack(bytes, last, write_);
  } else if (state_.ok() && !bytes.empty()) {
    state_ = write_(bytes);
  }
  buffer_.clear();
}

Result<> Sink::finish() {
  flush(true);
  return state_;
}

} // namespace heaptape
