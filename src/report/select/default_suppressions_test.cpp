#include "report/select/default_suppressions.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace heaptape {
namespace {

// An ELF file with one function at 0x1000 and some text at 0x1100, and the symbol that names the function.
std::vector<std::byte> file_with(const std::string& code, const std::string& text, const std::string& name) {
  const std::string names = std::string(1, '\0') + name + std::string(1, '\0');
  const std::string sections = std::string("\0.symtab\0.strtab\0.shstrtab\0", 27);
  std::string bytes(0x2000, '\0');
  const auto put = [&](std::size_t at, const void* what, std::size_t size) {
    std::memcpy(bytes.data() + at, what, size);
  };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shoff = 0x1800;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  put(0, &header, sizeof header);
  const Elf64_Phdr load{PT_LOAD, PF_R | PF_X, 0, 0, 0, 0x1400, 0x1400, 0x1000};
  put(sizeof header, &load, sizeof load);
  put(0x1000, code.data(), code.size());
  put(0x1100, text.data(), text.size());
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = 1;
  symbol.st_value = 0x1000;
  symbol.st_size = code.size();
  put(0x1500 + sizeof symbol, &symbol, sizeof symbol);
  put(0x1600, names.data(), names.size());
  put(0x1700, sections.data(), sections.size());
  Elf64_Shdr table[4]{};
  table[1] = {1, SHT_SYMTAB, 0, 0, 0x1500, 2 * sizeof symbol, 2, 1, 8, sizeof symbol};
  table[2] = {9, SHT_STRTAB, 0, 0, 0x1600, names.size(), 0, 0, 1, 0};
  table[3] = {17, SHT_STRTAB, 0, 0, 0x1700, sections.size(), 0, 0, 1, 0};
  put(0x1800, table, sizeof table);
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

std::optional<std::string> found(const std::string& code, const std::string& name = "__lsan_default_suppressions") {
  const std::vector<std::byte> file = file_with(code, "leak:known\n", name);
  const auto image = ElfImage::parse(file);
  EXPECT_TRUE(image.ok());
  return image ? default_suppressions_of(image.value()) : std::nullopt;
}

using namespace std::string_literals;

TEST(DefaultSuppressions, AFunctionThatReturnsALiteralIsRead) {
  EXPECT_EQ(found("\x48\x8d\x05\xf9\0\0\0\xc3"s), "leak:known\n");                     // lea; ret
  EXPECT_EQ(found("\xf3\x0f\x1e\xfa\x48\x8d\x05\xf5\0\0\0\xc3"s), "leak:known\n");     // with endbr64
  EXPECT_EQ(found("\x55\x48\x89\xe5\x48\x8d\x05\xf5\0\0\0\x5d\xc3"s), "leak:known\n"); // not optimised
  EXPECT_EQ(found("\xb8\0\x11\0\0\xc3"s), "leak:known\n");                             // not position-independent
}

TEST(DefaultSuppressions, AFunctionThatDoesMoreIsLeftAlone) {
  EXPECT_EQ(found("\xe8\0\0\0\0\x48\x8d\x05\xf9\0\0\0\xc3"s), std::nullopt);
  EXPECT_EQ(found("\x48\x8d\x05\xf9\0\0\0\x90"s), std::nullopt);
  EXPECT_EQ(found("\x48\x8d\x05\0\0\0\x7f\xc3"s), std::nullopt); // text outside of the file
}

TEST(DefaultSuppressions, OtherFunctionsAreNotMeant) {
  EXPECT_EQ(found("\x48\x8d\x05\xf9\0\0\0\xc3"s, "__lsan_default_suppressions2"), std::nullopt);
}

} // namespace
} // namespace heaptape
