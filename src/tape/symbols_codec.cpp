#include "tape/symbols_codec.h"

#include <algorithm>
#include <string_view>

#include "base/byte_cursor.h"
#include "tape/format.h"
#include "tape/text_table.h"

namespace heaptape {

namespace {

using Bytes = std::vector<std::byte>;

// A payload is closed when it holds so much; the places of one address may come on top.
constexpr std::size_t kEnoughBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxPlaces = 64;

// One payload being filled.
class Payload {
public:
  std::size_t size() const { return texts_.bytes() + files_.size() + file_.size(); }
  bool empty() const { return file_count_ == 0; }

  void begin_file(std::string_view path, std::span<const std::uint8_t> build_id) {
    path_ = path;
    build_id_ = build_id;
    last_address_ = 0;
  }

  // `places` is not empty.
  void add(std::uint64_t address, std::span<const SymbolPlace> places, bool signal_trampoline) {
    // The innermost and the outermost say most; of a deeper pile the middle is left out.
    const std::size_t kept = std::min(places.size(), kMaxPlaces);
    ByteWriter writer(file_);
    writer.varint(address - last_address_);
    last_address_ = address;
    writer.varint(kept * 2 + (signal_trampoline ? 1 : 0));
    for (std::size_t i = 0; i < kept; ++i) {
      const SymbolPlace& place = i + 1 < kept ? places[i] : places.back();
      writer.varint(texts_.number(place.function));
      writer.varint(texts_.number(place.file));
      writer.varint(place.line);
      writer.varint(place.column);
    }
    ++address_count_;
  }

  void end_file() {
    if (address_count_ == 0) return;
    ByteWriter writer(files_);
    writer.text(path_);
    writer.varint(build_id_.size());
    writer.bytes(std::as_bytes(build_id_));
    writer.varint(address_count_);
    writer.bytes(file_);
    ++file_count_;
    file_.clear();
    address_count_ = 0;
    last_address_ = 0;
  }

  // Leaves it empty, and in the same file.
  Bytes take() {
    end_file();
    Bytes payload;
    ByteWriter writer(payload);
    texts_.write_to(writer);
    writer.varint(file_count_);
    writer.bytes(files_);
    texts_ = {};
    files_.clear();
    file_count_ = 0;
    return payload;
  }

private:
  TextTable texts_;
  Bytes files_, file_;
  std::string_view path_;
  std::span<const std::uint8_t> build_id_;
  std::uint64_t last_address_ = 0;
  std::uint64_t address_count_ = 0, file_count_ = 0;
};
static_assert(kEnoughBytes + kMaxPlaces * 2 * (kMaxTableText + 32) < format::kMaxPayloadBytes);

} // namespace

std::vector<Bytes> encode_symbols(const Symbols& symbols) {
  std::vector<Bytes> payloads;
  Payload payload;
  symbols.each_file([&](std::string_view path, std::span<const std::uint8_t> build_id,
                        const std::vector<std::uint64_t>& addresses, Symbols::File file) {
    payload.begin_file(path, build_id);
    for (const std::uint64_t address : addresses) {
      payload.add(address, symbols.find(file, address), symbols.is_signal_trampoline(file, address));
      if (payload.size() >= kEnoughBytes) payloads.push_back(payload.take());
    }
    payload.end_file();
  });
  if (!payload.empty()) payloads.push_back(payload.take());
  return payloads;
}

bool parse_symbols(std::span<const std::byte> payload, Symbols& symbols) {
  ByteReader reader(payload);
  const std::vector<std::string_view> texts = read_text_table(reader);
  if (texts.empty()) return false;
  std::vector<SymbolPlace> places;
  for (std::uint64_t files = reader.varint(); files != 0 && reader.ok(); --files) {
    const std::string_view path = reader.text();
    const auto build_id = reader.bytes(reader.varint());
    const std::uint64_t addresses = reader.varint();
    if (!reader.ok() || addresses > reader.remaining()) return false;
    const Symbols::File file =
        symbols.add_file(path, {reinterpret_cast<const std::uint8_t*>(build_id.data()), build_id.size()});
    std::uint64_t address = 0;
    for (std::uint64_t left = addresses; left != 0; --left) {
      address += reader.varint();
      const std::uint64_t shape = reader.varint();
      // An address without a place would cost more memory than it takes here; a place takes at least four bytes.
      if (!reader.ok() || shape < 2 || shape / 2 > reader.remaining() / 4) return false;
      places.clear();
      for (std::uint64_t count = shape / 2; count != 0; --count) {
        const std::uint64_t function = reader.varint();
        const std::uint64_t source = reader.varint();
        const std::uint64_t line = reader.varint();
        const std::uint64_t column = reader.varint();
        if (!reader.ok() || function >= texts.size() || source >= texts.size()) return false;
        places.push_back(
            {texts[function], texts[source], static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(column)});
      }
      symbols.set(file, address, places, shape % 2 != 0);
    }
  }
  return reader.ok();
}

} // namespace heaptape
