#include "report/import/heaptrack_import.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/heap/heap_model.h"
#include "analysis/index/summary_of.h"
#include "report/import/heaptrack_places.h"
#include "tape/event_encoder.h"

namespace heaptape {
namespace {

constexpr std::uint64_t kNewestFileVersion = 3;
constexpr std::uint64_t kMostStacks = std::uint64_t{1} << 24; // what a tape can hold
constexpr std::uint64_t kFirstBlock = 0x1000'0000;
constexpr std::uint64_t kLastBlock = std::uint64_t{1} << 46;
constexpr ThreadId kOnlyThread{1};

// The numbers of a line, in hexadecimal, with blanks between them.
class Fields {
public:
  explicit Fields(std::string_view text) : text_(text) {}

  std::optional<std::uint64_t> next() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number, 16);
    if (error != std::errc() || (end != text_.data() + text_.size() && *end != ' ')) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return number;
  }
  // All that is left, without the blank in front.
  std::string_view rest() const { return text_.starts_with(' ') ? text_.substr(1) : text_; }

private:
  std::string_view text_;
};

class Importer {
public:
  explicit Importer(TapeWriter& tape) : tape_(tape) {}

  enum class Line : std::uint8_t { Good, Odd, Bad };

  // Bad: it makes no sense.
  Line take(std::string_view line) {
    if (line.empty() || line.front() == '#') return Line::Good;
    Fields fields(line.substr(1));
    switch (line.front()) {
    case 'v': return good(take_version(fields));
    case 's': return good(take_text(fields));
    case 'i': return good(take_address(fields));
    case 't': return good(take_trace(fields));
    case 'a': return good(take_allocation(fields));
    case '+': return good(make_block(fields));
    case '-': return good(end_block(fields));
    case 'c': return good(take_time(fields));
    case 'R': return good(take_rss(fields));
    case 'I': return good(take_system(fields));
    case 'X': command_ = fields.rest(); return Line::Good;
    // Suppressions of the program; and that heaptrack was attached to it.
    case 'S':
    case 'A': return Line::Good;
    default: return Line::Odd;
    }
  }

  bool has_version() const { return version_ != 0; }
  std::uint64_t version() const { return version_; }
  std::uint64_t events() const { return model_.totals().events; }
  std::optional<Error> failure() const { return failure_; }

  Result<Summary> finish(const std::string& name, std::string note);

private:
  struct Allocation {
    std::uint64_t size = 0;
    StackId stack;
    // Addresses of its blocks. heaptrack does not record which of several like blocks is released: the latest is as
    // good as any.
    std::vector<std::uint64_t> live{}, spare{};
  };

  static Line good(bool is_good) { return is_good ? Line::Good : Line::Bad; }

  bool take_version(Fields& fields) {
    const auto program = fields.next();
    if (!program || has_version()) return false;
    const auto version = fields.next();
    // Before it had versions of its own, the format had the program's.
    version_ = version ? *version : *program == 0x10200 ? 1 : 0;
    return version_ != 0;
  }
  bool take_text(Fields& fields) {
    std::string_view text = fields.rest();
    if (version_ >= 3) {
      const auto size = fields.next();
      text = fields.rest();
      if (!size || *size > text.size()) return false;
      text = text.substr(0, *size);
    }
    places_.add_text(std::string(text));
    return true;
  }
  bool take_address(Fields& fields) {
    const auto address = fields.next();
    const auto module = fields.next();
    if (!address || !module || !places_.is_text(*module)) return false;
    std::vector<HeaptrackPlaces::Frame> frames;
    while (const auto function = fields.next()) {
      const auto file = fields.next();
      const auto line = fields.next();
      if (!places_.is_text(*function) || (file && !places_.is_text(*file))) return false;
      if (*function != 0) frames.push_back({*function, file.value_or(0), static_cast<std::uint32_t>(line.value_or(0))});
    }
    places_.add_address(*address, *module, std::move(frames));
    return true;
  }
  bool take_trace(Fields& fields) {
    const auto address = fields.next();
    const auto parent = fields.next();
    if (!address || !parent || !places_.is_address(*address) || *parent > stack_count_) return false;
    if (stack_count_ + 1 >= kMostStacks) {
      failure_ = Error{ErrorCode::Unsupported, "it has more call stacks than a tape can hold"};
      return true;
    }
    new_stacks_.push_back({StackId(static_cast<std::uint32_t>(*parent)), places_.pc_of(*address)});
    ++stack_count_;
    return true;
  }
  bool take_allocation(Fields& fields) {
    const auto size = fields.next();
    const auto trace = fields.next();
    if (!size || !trace || *trace > stack_count_) return false;
    allocations_.push_back({*size, StackId(static_cast<std::uint32_t>(*trace))});
    return true;
  }
  bool make_block(Fields& fields) {
    const auto number = fields.next();
    if (!number || *number >= allocations_.size()) return false;
    Allocation& allocation = allocations_[*number];
    std::uint64_t address = next_block_;
    if (allocation.spare.empty()) {
      next_block_ += (std::min(allocation.size, kLastBlock) + 39) / 16 * 16;
      if (next_block_ > kLastBlock) {
        failure_ = Error{ErrorCode::Unsupported, "it has more memory than a tape can hold addresses for"};
        return true;
      }
    } else {
      address = allocation.spare.back();
      allocation.spare.pop_back();
    }
    allocation.live.push_back(address);
    add_event(EventKind::Malloc, address, allocation.size, allocation.stack);
    return true;
  }
  bool end_block(Fields& fields) {
    const auto number = fields.next();
    if (!number || *number >= allocations_.size() || allocations_[*number].live.empty()) return false;
    Allocation& allocation = allocations_[*number];
    const std::uint64_t address = allocation.live.back();
    allocation.live.pop_back();
    allocation.spare.push_back(address);
    add_event(EventKind::Free, address, 0, StackId());
    return true;
  }
  bool take_time(Fields& fields) {
    const auto ms = fields.next();
    if (!ms || *ms > ~std::uint64_t{0} / 1000) return false;
    time_us_ = std::max(time_us_, *ms * 1000);
    return true;
  }
  bool take_rss(Fields& fields) {
    const auto pages = fields.next();
    if (!pages) return false;
    samples_.push_back({.time_us = time_us_, .rss_bytes = *pages * page_bytes_});
    constexpr std::size_t kSamplesPerChunk = 4096;
    if (samples_.size() == kSamplesPerChunk) {
      keep(tape_.add_samples(samples_));
      samples_.clear();
    }
    return true;
  }
  bool take_system(Fields& fields) {
    const auto page_bytes = fields.next();
    if (!page_bytes || *page_bytes == 0) return false;
    page_bytes_ = *page_bytes;
    return true;
  }

  void add_event(EventKind kind, std::uint64_t address, std::uint64_t size, StackId stack) {
    Event event;
    event.number = events() + 1;
    event.time_us = time_us_;
    event.kind = kind;
    event.address = address;
    event.size = size;
    event.stack = stack;
    event.thread = kOnlyThread;
    encoder_.add(event, model_.apply(event));
    if (encoder_.full()) write_events();
  }
  void write_events() {
    if (!new_stacks_.empty()) {
      const std::uint64_t first = stack_count_ - new_stacks_.size() + 1;
      keep(tape_.add_stacks(StackId(static_cast<std::uint32_t>(first)), new_stacks_));
      new_stacks_.clear();
    }
    if (!encoder_.empty()) keep(tape_.add_events(encoder_));
  }
  void keep(const Result<>& result) {
    if (!result && !failure_) failure_ = result.error();
  }

  TapeWriter& tape_;
  std::uint64_t version_ = 0;
  std::string command_;
  HeaptrackPlaces places_;
  std::vector<StackNode> new_stacks_; // not yet written
  std::uint64_t stack_count_ = 0;
  std::vector<Allocation> allocations_;
  std::uint64_t next_block_ = kFirstBlock;
  std::uint64_t time_us_ = 0;
  std::uint64_t page_bytes_ = 4096;
  std::vector<Sample> samples_;
  HeapModel model_;
  EventEncoder encoder_;
  std::optional<Error> failure_;
};

Result<Summary> Importer::finish(const std::string& name, std::string note) {
  write_events();
  if (!samples_.empty()) keep(tape_.add_samples(samples_));
  keep(tape_.add_modules(places_.modules()));
  keep(tape_.add_symbols(places_.symbols()));
  keep(tape_.add_threads(std::vector<Thread>{{.id = kOnlyThread, .name = "all threads"}}));
  std::string arguments = command_ + '\0';
  std::replace(arguments.begin(), arguments.end(), ' ', '\0');
  keep(tape_.add_meta({{"command", arguments},
                       {"program", command_.substr(0, command_.find(' '))},
                       {"imported", "heaptrack " + name}}));
  Summary summary = summary_of(model_.totals());
  summary.duration_us = time_us_;
  summary.note = std::move(note);
  if (!failure_) keep(tape_.add_summary(summary));
  if (failure_) return *failure_;
  return summary;
}

} // namespace

Result<ImportedTape> import_heaptrack(UnpackedLines& lines, const std::string& name, TapeWriter& tape) {
  Importer importer(tape);
  ImportedTape imported;
  while (true) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) {
      // The program or heaptrack was killed, say: what came before is good.
      if (importer.events() == 0 || line.error().code != ErrorCode::Malformed) return line.error();
      imported.cut_off = line.error().sentence;
      break;
    }
    if (!line.value()) break;
    const Importer::Line taken = importer.take(*line.value());
    if (!importer.has_version()) {
      return Error{ErrorCode::Malformed, name + " is not a heaptrack data file (a raw file becomes one with "
                                                "'heaptrack_interpret')"};
    }
    if (importer.version() > kNewestFileVersion) {
      return Error{ErrorCode::BadVersion, name + " was written by a newer heaptrack: its file version is " +
                                              std::to_string(importer.version()) + ", this heaptape reads 1 to " +
                                              std::to_string(kNewestFileVersion)};
    }
    if (taken == Importer::Line::Odd) ++imported.odd_lines;
    if (taken == Importer::Line::Bad) {
      const std::uint64_t number = lines.number();
      if (const auto more = lines.next(); importer.events() != 0 && more && !more.value()) {
        imported.cut_off = name + " is cut off";
        break;
      }
      return Error{ErrorCode::Malformed, name + " is damaged: line " + std::to_string(number) + " makes no sense"};
    }
    if (const auto failure = importer.failure()) return Error{failure->code, name + ": " + failure->sentence};
  }
  if (!importer.has_version()) return Error{ErrorCode::Malformed, name + " is empty"};
  Result<Summary> summary = importer.finish(name, imported.cut_off);
  if (!summary) return summary.error();
  imported.summary = std::move(summary).value();
  return imported;
}

} // namespace heaptape
