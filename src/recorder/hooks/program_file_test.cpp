#include "recorder/hooks/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace heaptape::recorder {
namespace {

// A folder of its own with executable files in it.
class ProgramFile : public testing::Test {
protected:
  ProgramFile() {
    std::string pattern = testing::TempDir() + "/program_file_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ProgramFile() override { std::filesystem::remove_all(folder_); }

  std::string make(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ + "/" + name) << bytes;
    ::chmod((folder_ + "/" + name).c_str(), 0755);
    return folder_ + "/" + name;
  }
  static ProgramFit fit(const std::string& path) { return fit_of_file(AT_FDCWD, path.c_str()); }

  std::string folder_;
};

// A 64-bit program that asks for `loader`; none when it is empty.
std::string elf(const std::string& loader, std::uint16_t machine = EM_X86_64) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr segments[2]{};
  segments[0].p_type = PT_LOAD;
  segments[1].p_type = loader.empty() ? PT_NOTE : PT_INTERP;
  segments[1].p_offset = sizeof header + sizeof segments;
  segments[1].p_filesz = loader.size() + 1;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(segments), sizeof segments);
  return bytes + loader + '\0';
}

std::string elf_32() {
  std::string bytes = elf("/lib/ld-linux.so.2", EM_386);
  bytes[EI_CLASS] = ELFCLASS32;
  return bytes;
}

const std::string kGlibc = "/lib64/ld-linux-x86-64.so.2";
const std::string kMusl = "/lib/ld-musl-x86_64.so.1";

TEST_F(ProgramFile, GlibcsLoaderTakesTheRecorderInAndNoLoaderDoesNotMind) {
  EXPECT_EQ(fit(make("dynamic", elf(kGlibc))), ProgramFit::Fits);
  EXPECT_EQ(fit(make("static", elf(""))), ProgramFit::Static);
  EXPECT_EQ(fit("/proc/self/exe"), ProgramFit::Fits);
}

TEST_F(ProgramFile, AnotherLoaderWordSizeOrProcessorIsForeign) {
  EXPECT_EQ(fit(make("musl", elf(kMusl))), ProgramFit::Foreign);
  EXPECT_EQ(fit(make("small", elf_32())), ProgramFit::Foreign);
  EXPECT_EQ(fit(make("arm", elf("/lib/ld-linux-aarch64.so.1", EM_AARCH64))), ProgramFit::Foreign);
}

TEST_F(ProgramFile, AScriptIsWhatItsInterpreterIs) {
  const std::string musl = make("musl", elf(kMusl));
  const std::string inner = make("inner", "#!" + musl); // without an end of line
  EXPECT_EQ(fit(inner), ProgramFit::Foreign);
  EXPECT_EQ(fit(make("outer", "#! \t" + inner + " -x\necho\n")), ProgramFit::Foreign);
  EXPECT_EQ(fit(make("good", "#!" + make("dynamic", elf(kGlibc)) + "\n")), ProgramFit::Fits);
  EXPECT_EQ(fit(make("lost", "#!/no/such/interpreter\n")), ProgramFit::Missing);
}

TEST_F(ProgramFile, AScriptThatIsItsOwnInterpreterIsGivenUp) {
  EXPECT_EQ(fit(make("self", "#!" + folder_ + "/self\n")), ProgramFit::Missing);
}

TEST_F(ProgramFile, AnInterpreterThatIsAPipeHoldsNobodyUp) {
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0755), 0);
  EXPECT_EQ(fit(make("waiting", "#!" + folder_ + "/pipe\n")), ProgramFit::Missing);
  EXPECT_EQ(fit(folder_ + "/pipe"), ProgramFit::Missing);
}

TEST_F(ProgramFile, WhatIsCutShortOrNoProgramIsLeftToTheKernel) {
  const std::string whole = elf(kMusl);
  for (const std::size_t size : {0ul, 3ul, 15ul, 63ul, 64ul, 100ul, 180ul}) {
    EXPECT_EQ(fit(make("cut", whole.substr(0, size))), ProgramFit::Missing) << size;
  }
  EXPECT_EQ(fit(make("text", "echo hello\n")), ProgramFit::Missing);
  EXPECT_EQ(fit(make("line", "#!\n")), ProgramFit::Missing);
  EXPECT_EQ(fit(make("long", "#!" + std::string(300, 'x') + "\n")), ProgramFit::Missing);
  EXPECT_EQ(fit(folder_), ProgramFit::Missing);
  EXPECT_EQ(fit(folder_ + "/nothing"), ProgramFit::Missing);
}

TEST_F(ProgramFile, NumbersThatMakeNoSenseAreRefused) {
  std::string bytes = elf(kMusl);
  Elf64_Phdr huge{};
  huge.p_type = PT_INTERP;
  huge.p_offset = ~std::uint64_t{0};
  huge.p_filesz = ~std::uint64_t{0};
  bytes.replace(sizeof(Elf64_Ehdr), sizeof huge, reinterpret_cast<const char*>(&huge), sizeof huge);
  EXPECT_EQ(fit(make("huge", bytes)), ProgramFit::Foreign);
  huge.p_filesz = 20;
  bytes.replace(sizeof(Elf64_Ehdr), sizeof huge, reinterpret_cast<const char*>(&huge), sizeof huge);
  EXPECT_EQ(fit(make("far", bytes)), ProgramFit::Missing);
}

TEST_F(ProgramFile, AnOpenFileIsLookedAtAlsoWhenItWasOpenedForExecutionOnly) {
  const std::string musl = make("musl", elf(kMusl));
  for (const int flags : {O_RDONLY, O_PATH}) {
    const int fd = ::open(musl.c_str(), flags | O_CLOEXEC);
    EXPECT_EQ(fit_of_descriptor(fd), ProgramFit::Foreign) << flags;
    ::close(fd);
  }
}

TEST_F(ProgramFile, TheSearchPathIsSearchedAsExecvpDoes) {
  std::filesystem::create_directories(folder_ + "/a/tool");
  std::filesystem::create_directories(folder_ + "/b");
  make("b/tool", elf(kMusl));
  make("tool", elf(kGlibc));
  const std::string path = folder_ + "/none:" + folder_ + "/a:" + folder_ + "/b:" + folder_;
  EXPECT_EQ(fit_of_name("tool", path.c_str()), ProgramFit::Foreign) << "the folder of that name is passed by";
  EXPECT_EQ(fit_of_name((folder_ + "/tool").c_str(), path.c_str()), ProgramFit::Fits);
  EXPECT_EQ(fit_of_name("no such tool", path.c_str()), ProgramFit::Missing);
  EXPECT_EQ(fit_of_name("", path.c_str()), ProgramFit::Missing);
  EXPECT_EQ(fit_of_name("sh", nullptr), ProgramFit::Fits);
}

} // namespace
} // namespace heaptape::recorder
