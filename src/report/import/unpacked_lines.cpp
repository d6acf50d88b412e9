#include "report/import/unpacked_lines.h"

#include <zlib.h>
#include <zstd.h>

#include <utility>

namespace heaptape {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kRoomBytes = std::size_t{512} << 10;
// The longest name of a template that heaptrack was seen to write had 60 KB.
constexpr std::size_t kLongestLine = std::size_t{16} << 20;

} // namespace

// unpack() takes bytes from the front of `packed`, appends to `text`, and may leave some for the next call. False: the
// bytes make no sense. full(): there was more than fitted, so call again even with nothing new. between(): whether the
// file may end here.
class UnpackedLines::Unpacker {
public:
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual ~Unpacker() = default;
  virtual bool unpack(std::string& packed, std::string& text) = 0;
  virtual bool full() const { return false; }
  virtual bool between() const = 0;
};

class UnpackedLines::Plain final : public UnpackedLines::Unpacker {
public:
  bool unpack(std::string& packed, std::string& text) override {
    text += packed;
    packed.clear();
    return true;
  }
  bool between() const override { return true; }
};

class UnpackedLines::Gzip final : public UnpackedLines::Unpacker {
public:
  Gzip() {
    constexpr int kGzipHeader = 16; // added to the window's bits
    HT_CHECK(inflateInit2(&stream_, MAX_WBITS + kGzipHeader) == Z_OK);
  }
  ~Gzip() override { inflateEnd(&stream_); }

  bool unpack(std::string& packed, std::string& text) override {
    if (between_ && !packed.empty()) {
      if (inflateReset(&stream_) != Z_OK) return false; // another member follows
      between_ = false;
    }
    const std::size_t before = text.size();
    text.resize(before + kRoomBytes);
    stream_.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(text.data() + before);
    stream_.avail_out = static_cast<uInt>(kRoomBytes);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    text.resize(before + (kRoomBytes - stream_.avail_out));
    full_ = stream_.avail_out == 0;
    packed.erase(0, packed.size() - stream_.avail_in);
    between_ = status == Z_STREAM_END;
    return status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR;
  }
  bool full() const override { return full_; }
  bool between() const override { return between_; }

private:
  z_stream stream_{};
  bool full_ = false;
  bool between_ = false;
};

class UnpackedLines::Zstd final : public UnpackedLines::Unpacker {
public:
  Zstd() : context_(ZSTD_createDCtx()) {
    HT_CHECK(context_ != nullptr);
    // A hostile file may ask for a window of gigabytes.
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, 27);
  }
  ~Zstd() override { ZSTD_freeDCtx(context_); }

  bool unpack(std::string& packed, std::string& text) override {
    const std::size_t before = text.size();
    text.resize(before + kRoomBytes);
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{text.data() + before, kRoomBytes, 0};
    const std::size_t left = ZSTD_decompressStream(context_, &out, &in);
    text.resize(before + out.pos);
    full_ = out.pos == kRoomBytes;
    if (ZSTD_isError(left) != 0) return false;
    packed.erase(0, in.pos);
    between_ = left == 0;
    return true;
  }
  bool full() const override { return full_; }
  bool between() const override { return between_; }

private:
  ZSTD_DCtx* context_;
  bool full_ = false;
  bool between_ = false;
};

UnpackedLines::UnpackedLines(ReadBytes read, std::string name) : read_(std::move(read)), name_(std::move(name)) {}
UnpackedLines::~UnpackedLines() = default;

Result<> UnpackedLines::choose_unpacker() {
  while (packed_.size() < 4 && !read_all_) {
    const std::size_t before = packed_.size();
    packed_.resize(before + kReadBytes);
    Result<std::size_t> got = read_(packed_.data() + before, kReadBytes);
    if (!got) return got.error();
    packed_.resize(before + got.value());
    read_all_ = got.value() == 0;
  }
  const std::string_view begin = packed_;
  if (begin.starts_with("\x1f\x8b"))
    unpacker_ = std::make_unique<Gzip>();
  else if (begin.starts_with("\x28\xb5\x2f\xfd"))
    unpacker_ = std::make_unique<Zstd>();
  else
    unpacker_ = std::make_unique<Plain>();
  return Unit{};
}

Result<> UnpackedLines::fill() {
  if (!unpacker_) {
    if (Result<> chosen = choose_unpacker(); !chosen) return chosen;
  }
  const std::size_t before = text_.size();
  while (text_.size() == before) {
    const std::size_t packed_before = packed_.size();
    if (packed_before != 0 || unpacker_->full()) {
      if (!unpacker_->unpack(packed_, text_))
        return Error{ErrorCode::Malformed, name_ + " is damaged: it cannot be unpacked"};
      if (text_.size() != before) break;
    }
    if (read_all_) {
      if (packed_.size() == packed_before && packed_before != 0)
        return Error{ErrorCode::Malformed, name_ + " is damaged: it cannot be unpacked"};
      if (packed_.empty()) {
        ended_ = true;
        if (!unpacker_->between()) return Error{ErrorCode::Malformed, name_ + " is cut off"};
        break;
      }
      continue;
    }
    const std::size_t size = packed_.size();
    packed_.resize(size + kReadBytes);
    Result<std::size_t> got = read_(packed_.data() + size, kReadBytes);
    if (!got) return got.error();
    packed_.resize(size + got.value());
    read_all_ = got.value() == 0;
  }
  return Unit{};
}

Result<std::optional<std::string_view>> UnpackedLines::next() {
  std::size_t searched = at_;
  while (true) {
    if (const std::size_t end = text_.find('\n', searched); end != text_.npos) {
      const std::string_view line(text_.data() + at_, end - at_);
      at_ = end + 1;
      ++number_;
      return std::optional(line);
    }
    if (ended_) break;
    text_.erase(0, at_);
    at_ = 0;
    searched = text_.size();
    if (searched > kLongestLine) return Error{ErrorCode::Malformed, name_ + " has a line that is too long"};
    if (Result<> filled = fill(); !filled) return filled.error();
  }
  if (at_ == text_.size()) return std::optional<std::string_view>();
  const std::string_view line(text_.data() + at_, text_.size() - at_);
  at_ = text_.size();
  ++number_;
  return std::optional(line);
}

} // namespace heaptape
