// Reads lines from a terminal with editing, history and completion.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heaptape::cli {

// One at a time in a process. One thread at a time.
class LineEditor {
public:
  // What the word at the end of the text may become, and where it begins.
  struct Completion {
    std::size_t from = 0;
    std::vector<std::string> words{};
  };
  using Complete = std::function<Completion(std::string_view text)>;

  // The history is read from `history_file` and written there at the end; empty: none is kept.
  LineEditor(const std::string& history_file, Complete complete);
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor();

  enum class Outcome : unsigned char { Line, Interrupted, End };
  struct Read {
    Outcome outcome = Outcome::End;
    std::string line{}; // without the newline
  };
  // Ctrl-C gives Interrupted, Ctrl-D on an empty line End.
  Read read(const std::string& prompt);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace heaptape::cli
