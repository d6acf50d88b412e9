// Unwind tables (.eh_frame, .debug_frame): for an address of code, how the frame there leads to its caller's. Works on bytes that may be
// hostile: what makes no sense reads as absent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/section_bytes.h"

namespace heaptape {

// By DWARF number on x86-64: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and last the return address.
inline constexpr std::size_t kUnwindRegisters = 17;
inline constexpr std::size_t kUnwindRbp = 6, kUnwindRsp = 7, kUnwindReturn = 16;

enum class RegisterFrom : std::uint8_t {
  Same,     // it is as it was
  Saved,    // at the CFA plus `value`
  Value,    // it is the CFA plus `value`
  SavedAt,  // where `expression` says
  Computed, // what `expression` says
  OtherRegister,
  Nowhere, // lost; of the return address: there is no caller
};
struct RegisterRule {
  RegisterFrom from = RegisterFrom::Same;
  std::int64_t value = 0;
  ByteSpan expression{};
};

// What the table says of one address. Its expressions lie in the table's bytes.
struct UnwindRow {
  std::uint64_t cfa_register = kUnwindRegisters; // that the CFA is counted from; kUnwindRegisters: it is not known
  std::int64_t cfa_offset = 0;
  ByteSpan cfa_expression{}; // instead of both, if it is not empty
  std::array<RegisterRule, kUnwindRegisters> registers{};
  bool signal_frame = false; // the caller was interrupted, and did not call
};

class UnwindTable {
public:
  enum class Kind : std::uint8_t { EhFrame, DebugFrame };

  // Adds the entries of a section, whose bytes must outlive the table. Addresses in it are as its file counts them.
  void add(Kind kind, ByteSpan section, std::uint64_t section_address);
  bool empty() const { return entries_.empty(); }

  // What is said of the instruction that holds this byte; nullopt: nothing.
  std::optional<UnwindRow> find(std::uint64_t address) const;

private:
  struct Section {
    Kind kind = Kind::EhFrame;
    ByteSpan bytes;
    std::uint64_t address = 0;
  };
  // A function, or a part of one.
  struct Entry {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t common = 0;       // offset of what it shares with others
    std::uint64_t instructions = 0; // where its own begin
    std::uint64_t instructions_end = 0;
    std::uint32_t section = 0; // number in sections_
  };
  struct Common;
  class Program;

  static std::optional<Common> read_common(const Section& section, std::uint64_t offset);

  std::vector<Section> sections_;
  std::vector<Entry> entries_; // by begin; of those that begin at one place the first added comes first
};

} // namespace heaptape
