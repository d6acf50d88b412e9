// Is a tape whole, and could its events have happened?
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tape/reader.h"

namespace heaptape {

struct Problem {
  std::uint64_t event = 0; // 0: about the file as a whole
  std::string sentence;
  std::string sort{};   // "double-free", as odd_sort_name(); "overlap"; empty: about the tape, not the program
  bool is_event = true; // else it happened after the event, and is not one
  StackId stack{};      // of the call
  std::string site{};   // "load x.cpp:12 <- main"; empty: not known
};

struct Verdict {
  std::uint64_t events = 0;
  std::uint64_t unknown_releases = 0;
  std::uint64_t problem_count = 0;                // all of them; the list may be shorter
  std::vector<Problem> problems;                  // about the tape first, then by event
  std::map<std::string, std::uint64_t> by_sort{}; // all problems of the program
  std::uint64_t failed_count = 0;  // allocations that failed: no problem of the tape, and maybe none of the program
  std::vector<Problem> failed{};   // the first of them
  std::uint64_t memory_errors = 0; // that checks in the program found
  bool finished = false;           // the recording came to its end
  bool partial = false;            // not all events were looked at

  bool is_ok() const { return problem_count == 0 && memory_errors == 0; }
};

struct VerifyTape {
  std::uint64_t limit = 0;             // check only the first N events; 0: all
  std::function<bool()> should_stop{}; // asked now and then
};

Verdict verify_tape(const TapeReader& tape, const VerifyTape& options = {});
std::string verdict_text(const std::string& name, const Verdict& verdict);
std::string verdict_json(const std::string& name, const Verdict& verdict);

} // namespace heaptape
