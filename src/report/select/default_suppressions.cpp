#include "report/select/default_suppressions.h"

#include <elf.h>

#include <cstring>

#include "symbols/finder.h"

namespace heaptape {
namespace {

constexpr std::string_view kFunction = "__lsan_default_suppressions";
constexpr std::size_t kLongest = std::size_t{1} << 20; // of the text

std::string_view as_text(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::optional<std::uint64_t> address_of(const ElfImage& image, const char* symbols, const char* names) {
  const SectionBytes table = image.contents(symbols), strings = image.contents(names);
  const std::string_view texts = as_text(strings.view());
  for (ByteSpan rest = table.view(); rest.size() >= sizeof(Elf64_Sym); rest = rest.subspan(sizeof(Elf64_Sym))) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, rest.data(), sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= texts.size())
      continue;
    const std::string_view name = texts.substr(symbol.st_name);
    if (name.starts_with(kFunction) && name.size() > kFunction.size() && name[kFunction.size()] == '\0')
      return symbol.st_value;
  }
  return std::nullopt;
}

// What the code at `address` returns, when it only loads an address into rax: with or without a frame, with or without
// endbr64.
std::optional<std::uint64_t> returned_address(const ElfImage& image, std::uint64_t address) {
  constexpr std::size_t kCode = 24; // longer than any of these
  std::string_view code;
  for (std::size_t size = kCode; code.empty() && size >= 6; --size) code = as_text(image.loaded_at(address, size));
  const std::size_t all = code.size();
  const auto skip = [&](std::string_view bytes) {
    const bool there = code.starts_with(bytes);
    if (there) code.remove_prefix(bytes.size());
    return there;
  };
  skip("\xf3\x0f\x1e\xfa");
  const bool frame = skip("\x55\x48\x89\xe5");         // push rbp; mov rbp, rsp
  const bool relative = skip("\x48\x8d\x05");          // lea rax, [rip + d]
  if (!relative && !skip("\xb8")) return std::nullopt; // mov eax, d
  std::int32_t number = 0;
  if (code.size() < sizeof number) return std::nullopt;
  std::memcpy(&number, code.data(), sizeof number);
  code.remove_prefix(sizeof number);
  const std::uint64_t next = address + (all - code.size());
  if (frame && !skip("\x5d")) return std::nullopt; // pop rbp
  if (!skip("\xc3")) return std::nullopt;
  return relative ? next + static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                  : static_cast<std::uint32_t>(number);
}

std::optional<std::string> text_at(const ElfImage& image, std::uint64_t address) {
  std::string text;
  while (text.size() < kLongest) {
    const ByteSpan byte = image.loaded_at(address + text.size(), 1);
    if (byte.empty()) return std::nullopt;
    if (byte[0] == std::byte{0}) return text;
    text += static_cast<char>(byte[0]);
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> default_suppressions_of(const ElfImage& program) {
  auto function = address_of(program, ".symtab", ".strtab");
  if (!function) function = address_of(program, ".dynsym", ".dynstr");
  if (!function) return std::nullopt;
  const auto address = returned_address(program, *function);
  return address ? text_at(program, *address) : std::nullopt;
}

std::optional<std::string> default_suppressions(const TapeReader& tape, const SymbolOptions& options) {
  const auto path = tape.meta().find("program");
  const Finder finder(options);
  for (const Module& module : tape.modules()) {
    // The program itself is the first module, or the one that META names.
    if (path != tape.meta().end() ? module.path != path->second : &module != &tape.modules().front()) continue;
    const auto file = finder.module({.path = module.path, .build_id = module.build_id});
    if (!file) return std::nullopt;
    const auto image = ElfImage::parse(file.value().bytes());
    return image ? default_suppressions_of(image.value()) : std::nullopt;
  }
  return std::nullopt;
}

} // namespace heaptape
