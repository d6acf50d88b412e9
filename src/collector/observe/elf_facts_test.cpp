#include "collector/observe/elf_facts.h"

#include <gtest/gtest.h>

#include "collector/observe/elf_builder_for_test.h"

namespace heaptape {
namespace {

ElfFacts facts_of(const ElfSketch& sketch) {
  const std::vector<std::byte> file = make_elf(sketch);
  return parse_elf_facts(file).value();
}

TEST(ElfFacts, OrdinaryProgramHasALoaderAndNothingSpecial) {
  const ElfFacts facts = facts_of({.imported = {"malloc", "free"}});
  EXPECT_TRUE(facts.is_64_bit);
  EXPECT_EQ(facts.machine, EM_X86_64);
  EXPECT_EQ(facts.interpreter, "/lib64/ld-linux-x86-64.so.2");
  EXPECT_EQ(facts.needed, std::vector<std::string>{"libc.so.6"});
  EXPECT_FALSE(facts.defines_malloc);
  EXPECT_EQ(facts.sanitizer, "");
}

TEST(ElfFacts, StaticProgramHasNoInterpreter) { EXPECT_EQ(facts_of({.interpreter = ""}).interpreter, ""); }

TEST(ElfFacts, ExportedMallocIsFoundThroughEitherHashTable) {
  for (const auto hash : {ElfSketch::Hash::Gnu, ElfSketch::Hash::Sysv}) {
    EXPECT_TRUE(facts_of({.exported = {"main", "malloc", "free"}, .imported = {"puts"}, .hash = hash}).defines_malloc);
    EXPECT_FALSE(facts_of({.exported = {"main", "mallocs"}, .imported = {"malloc"}, .hash = hash}).defines_malloc);
  }
}

TEST(ElfFacts, AllocatorIsNamedByWhatElseItExports) {
  EXPECT_EQ(facts_of({.exported = {"malloc", "mallocx"}}).allocator, "jemalloc");
  EXPECT_EQ(facts_of({.exported = {"malloc"}, .static_symbols = {"main", "tc_malloc"}}).allocator, "tcmalloc");
  EXPECT_EQ(facts_of({.exported = {"malloc"}, .static_symbols = {"mi_malloc"}}).allocator, "mimalloc");
  EXPECT_EQ(facts_of({.exported = {"malloc"}, .static_symbols = {"main"}}).allocator, "");
}

TEST(ElfFacts, AllocatorNamesMeanNothingWithoutAMallocOfItsOwn) {
  EXPECT_EQ(facts_of({.static_symbols = {"je_malloc"}}).allocator, "");
}

TEST(ElfFacts, SanitizerIsKnownByItsLibraryOrByItsSymbols) {
  EXPECT_EQ(facts_of({.needed = {"libasan.so.8", "libc.so.6"}}).sanitizer, "AddressSanitizer");
  EXPECT_EQ(facts_of({.exported = {"malloc", "__tsan_init"}}).sanitizer, "ThreadSanitizer");
  EXPECT_EQ(facts_of({.exported = {"malloc"}, .static_symbols = {"__msan_init"}}).sanitizer, "MemorySanitizer");
  EXPECT_EQ(facts_of({.needed = {"libubsan.so.1", "libc.so.6"}}).sanitizer, "");
}

TEST(ElfFacts, RuntimeLibrariesOfBothCompilersAreKnown) {
  EXPECT_EQ(sanitizer_of_library("libtsan.so.2"), "ThreadSanitizer");
  EXPECT_EQ(sanitizer_of_library("/usr/lib/clang/14/lib/linux/libclang_rt.asan-x86_64.so"), "AddressSanitizer");
  EXPECT_EQ(sanitizer_of_library("libclang_rt.hwasan.so"), "HWAddressSanitizer");
  EXPECT_EQ(sanitizer_of_library("liblsan.so.0"), "LeakSanitizer");
  EXPECT_EQ(sanitizer_of_library("libasanabria.so.1"), "");
  EXPECT_EQ(sanitizer_of_library("libc.so.6"), "");
}

TEST(ElfFacts, Other32BitProgramsYieldTheirMachineOnly) {
  std::vector<std::byte> file = make_elf({.machine = EM_386});
  file[EI_CLASS] = std::byte{ELFCLASS32};
  const ElfFacts facts = parse_elf_facts(file).value();
  EXPECT_FALSE(facts.is_64_bit);
  EXPECT_EQ(facts.machine, EM_386);
}

TEST(ElfFacts, WhatIsNoElfFileIsSaidToBeNone) {
  const std::string script = "#!/bin/sh\n";
  EXPECT_EQ(parse_elf_facts(std::as_bytes(std::span(script))).error().code, ErrorCode::NotFound);
  EXPECT_EQ(parse_elf_facts({}).error().code, ErrorCode::NotFound);
}

TEST(ElfFacts, EveryCutOffFileIsReadWithoutHarm) {
  const std::vector<std::byte> file =
      make_elf({.exported = {"malloc", "mallocx"}, .imported = {"puts"}, .static_symbols = {"je_malloc"}});
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    (void)parse_elf_facts(cut).ok();
  }
}

} // namespace
} // namespace heaptape
