#include "report/contents/block_types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/memory/block_walk.h"
#include "report/contents/derived_types.h"
#include "report/contents/type_reader.h"

namespace heaptape {
namespace {

constexpr std::uint32_t kNotKnown = DeriveFrom::kNotKnown;
// What hangs on a derived type is derived, too; further away nothing useful is said.
constexpr int kRounds = 2;

// What is behind the fields of CPython's own types, whose objects begin in the same way in all releases.
struct PythonField {
  std::string_view type;
  std::uint32_t offset;
  std::string_view what;
};
constexpr std::array kPythonFields = std::to_array<PythonField>({
    {"list", 0x18, "items"},
    {"dict", 0x20, "keys"},
    {"dict", 0x28, "values"},
    {"set", 0x28, "table"},
    {"frozenset", 0x28, "table"},
    {"bytearray", 0x20, "bytes"},
    {"array.array", 0x18, "items"},
    {"collections.deque", 0x18, "items"},
    {"collections.deque", 0x20, "items"},
});

} // namespace

class TypeFinder {
public:
  TypeFinder(SnapshotHeap& heap, StackNames& names)
      : heap_(heap), ranks_(heap.ranks()), names_(names), reader_(heap.memory(), names) {
    reader_.set_blocks(ranks_);
  }

  BlockTypes run() {
    made_.type_of_.resize(ranks_.size());
    kind_of_.resize(ranks_.size());
    for (std::uint32_t block = 0; block < ranks_.size(); ++block) {
      const OfStack& stack = of_stack(heap_.stack_of(block));
      made_.type_of_[block] = stack.type;
      kind_of_[block] = stack.kind;
    }
    look_into_blocks();
    std::uint32_t first_new = 0;
    for (int round = 0; round < kRounds; ++round) first_new = derive(first_new);
    for (std::uint32_t block = 0; block < ranks_.size(); ++block)
      if (made_.type_of_[block] == kNotKnown) made_.type_of_[block] = by_function(heap_.stack_of(block));
    return std::move(made_);
  }

private:
  struct OfStack {
    bool known = false;
    bool is_raw = false;
    std::uint32_t type = kNotKnown, function = kNotKnown;
    std::uint32_t kind = 0; // number of the charged function's name
  };

  OfStack& of_stack(StackId stack) {
    if (by_stack_.size() <= stack.value) by_stack_.resize(stack.value + 1);
    OfStack& of = by_stack_[stack.value];
    if (of.known) return of;
    const TypeReader::OfStack& read = reader_.of_stack(stack);
    of.known = true;
    of.is_raw = read.is_raw;
    if (read.charged) of.kind = names_[*read.charged].function.value;
    if (!read.type.empty()) of.type = number_of({read.type, TypeSource::Frame});
    return of;
  }

  std::uint32_t by_function(StackId stack) {
    OfStack& of = of_stack(stack);
    if (of.function != kNotKnown) return of.function;
    BlockType type{"(unknown)", TypeSource::None};
    if (const auto charged = reader_.of_stack(stack).charged)
      type = {"<" + std::string(names_.function(*charged)) + ">", TypeSource::Function};
    return of.function = number_of(std::move(type));
  }

  std::uint32_t number_of(BlockType type) {
    const auto [found, is_new] =
        numbers_.try_emplace({type.source, type.name}, static_cast<std::uint32_t>(made_.types_.size()));
    if (is_new) {
      facts_.push_back({.is_array = type.name.ends_with("[]"),
                        .mixed = type.source == TypeSource::Runtime,
                        .certain = !pointed_type(type.name).empty(),
                        .is_end = type.name.starts_with("buckets of ")});
      object_at_.push_back(0);
      made_.types_.push_back(std::move(type));
    }
    return found->second;
  }

  void look_into_blocks() {
    MemoryCursor cursor(heap_.memory().image());
    walk_blocks(
        cursor, ranks_, 0, ranks_.size(),
        [&](std::uint32_t block) {
          return made_.type_of_[block] == kNotKnown || by_stack_[heap_.stack_of(block).value].is_raw;
        },
        [&](std::uint32_t block, std::uint64_t address, std::span<const std::byte> bytes) {
          if (address != ranks_.begin(block)) return true; // the rest of one that was looked at
          TypeReader::Head head{};
          const std::size_t size = std::min<std::uint64_t>(ranks_.end(block) - address, sizeof head) / 8 * 8;
          if (bytes.size() >= size)
            std::memcpy(head.data(), bytes.data(), size);
          else // it goes on in another piece of memory
            heap_.memory().cursor().read(address, std::as_writable_bytes(std::span(head)).first(size));
          if (const auto type = reader_.of_head(head, ranks_.bytes(block)))
            made_.type_of_[block] = number_of_head(*type);
          return true;
        });
  }

  std::uint32_t number_of_head(const TypeReader::OfHead& type) {
    const auto [found, is_new] = by_name_.try_emplace({type.name, type.is_array});
    if (is_new) {
      found->second = number_of({TypeReader::text(type), type.source});
      object_at_[found->second] = type.object_at;
    }
    return found->second;
  }

  // Gives the number of the first type that was not there before.
  std::uint32_t derive(std::uint32_t first_new) {
    const auto behind = static_cast<std::uint32_t>(made_.types_.size());
    const DerivedTypes derived = derive_types(heap_.view(), {made_.type_of_, first_new, facts_, kind_of_});
    std::vector<std::uint32_t> type_of_field(derived.fields.size(), kNotKnown);
    for (const auto& [block, field] : derived.blocks) {
      std::uint32_t& type = type_of_field[field];
      if (type == kNotKnown) type = number_of({name_of(derived.fields[field]), TypeSource::Derived});
      made_.type_of_[block] = type;
    }
    return behind;
  }

  std::string name_of(const BlockField& field) const {
    const BlockType& holder = made_.types_[field.type];
    if (std::string pointed = pointed_type(holder.name); !pointed.empty()) return pointed;
    if (field.offset == BlockField::kItems) return "item of " + holder.name;
    const std::uint32_t object = object_at_[field.type]; // what is in front of it leads to the values of its attributes
    if (field.offset < object) return "attributes of " + holder.name;
    if (holder.source == TypeSource::Runtime) {
      for (const PythonField& known : kPythonFields)
        if (known.offset == field.offset - object && holder.name.substr(kPythonPrefix.size()) == known.type)
          return std::string(known.what) + " of " + holder.name;
    }
    return fmt::format("field +{:#x} of {}", field.offset - object, holder.name);
  }

  SnapshotHeap& heap_;
  const BlockRanks& ranks_;
  StackNames& names_;
  TypeReader reader_;
  BlockTypes made_;
  std::map<std::pair<TypeSource, std::string>, std::uint32_t> numbers_;
  std::map<std::pair<const std::string*, bool>, std::uint32_t> by_name_; // of types by the blocks' heads
  std::vector<DeriveFrom::Type> facts_;                                  // by type
  std::vector<std::uint32_t> object_at_; // by type: where in its block an object of the runtime begins
  std::vector<OfStack> by_stack_;
  TableVector<std::uint32_t> kind_of_; // by block
};

BlockTypes BlockTypes::of(SnapshotHeap& heap, StackNames& names) { return TypeFinder(heap, names).run(); }

} // namespace heaptape
