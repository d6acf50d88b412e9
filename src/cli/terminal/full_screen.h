// The whole terminal, for a while: another screen, keys one by one, and everything restored afterwards, however the
// command ends (except by SIGKILL). One at a time per process.
#pragma once

#include <termios.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "live/top_screen.h"

namespace heaptape::cli {

struct ScreenSize {
  unsigned width = 80;
  unsigned height = 24;
};

class FullScreen {
public:
  // Takes the controlling terminal; an error when there is none.
  static Result<std::unique_ptr<FullScreen>> take();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  ScreenSize size() const;
  void show(const std::vector<std::string>& lines);

  using Key = std::variant<char, TopKey>;
  // Waits for keys, at most this long; also returns when the window is resized or a signal asks us to end. May give
  // none.
  std::vector<Key> keys(std::uint64_t most_ms);
  // SIGINT, SIGTERM or SIGHUP came: its number. 0: none.
  static int asked_to_end();

private:
  explicit FullScreen(UniqueFd terminal);

  UniqueFd terminal_;
};

// What makes a terminal of this height show these lines, the old ones gone.
std::string screen_bytes(const std::vector<std::string>& lines, std::size_t height);

// What bytes from a terminal mean.
std::vector<FullScreen::Key> keys_of(std::string_view bytes);

} // namespace heaptape::cli
