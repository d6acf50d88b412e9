#include "report/contents/type_reader.h"

#include <algorithm>
#include <span>

namespace heaptape {

TypeReader::TypeReader(SnapshotMemory& memory, StackNames& names)
    : memory_(memory), stacks_(names), objects_(memory), python_(memory.cursor()),
      may_be_vtable_(vtables_in(memory.facts().regions, memory.region_names())) {}

const TypeReader::OfStack& TypeReader::of_stack(StackId stack) {
  if (by_stack_.size() <= stack.value) by_stack_.resize(stack.value + 1);
  std::optional<OfStack>& known = by_stack_[stack.value];
  if (!known) {
    StackTypes::OfStack found = stacks_.of(stack);
    const bool is_raw = is_raw_bytes(found.type);
    known = OfStack{std::move(found.type), is_raw, found.charged};
  }
  return *known;
}

std::optional<TypeReader::OfHead> TypeReader::of_head(const Head& head, std::uint64_t bytes) {
  if (const std::string* const type = object_type(head[0])) return OfHead{type, TypeSource::Vtable};
  // An array of objects that have destructors begins with their number.
  if (head[0] != 0 && head[0] < bytes / 8 && (bytes - 8) % head[0] == 0) {
    if (const std::string* const type = object_type(head[1])) return OfHead{type, TypeSource::Vtable, true};
  }
  if (const auto object = memory_.has_cpython() ? python_.object_in(head, bytes) : std::nullopt)
    return OfHead{object->type, TypeSource::Runtime, false, object->offset};
  return std::nullopt;
}

std::string TypeReader::text(const OfHead& type) {
  if (type.source == TypeSource::Runtime) return std::string(kPythonPrefix) + *type.name;
  return *type.name + (type.is_array ? "[]" : "");
}

std::optional<std::string> TypeReader::type_of(std::uint64_t address, std::uint64_t bytes, StackId stack) {
  const OfStack& by_stack = of_stack(stack);
  if (!by_stack.type.empty() && !by_stack.is_raw) return by_stack.type;
  Head head{};
  const std::size_t size = std::min<std::uint64_t>(bytes, sizeof head) / 8 * 8;
  if (memory_.cursor().read(address, std::as_writable_bytes(std::span(head)).first(size)) == size) {
    if (const std::optional<OfHead> type = of_head(head, bytes)) return text(*type);
  }
  return by_stack.type.empty() ? std::nullopt : std::optional(by_stack.type);
}

const std::string* TypeReader::object_type(std::uint64_t word) {
  if (!may_be_vtable_(word)) return nullptr;
  const std::string& type = objects_.type_of(word);
  return type.empty() ? nullptr : &type;
}

} // namespace heaptape
