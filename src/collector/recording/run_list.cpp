#include "collector/recording/run_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/unique_fd.h"

namespace heaptape {

namespace {

// Names may hold anything.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < ' ' || byte >= 127) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte >= 127 ? 0xfffdU : unsigned{byte});
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number(std::uint64_t value) { return std::to_string(value); }

void append(const std::string& folder, const std::string& line) {
  const std::string path = folder + "/processes.jsonl";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file) (void)!::write(file.get(), line.data(), line.size());
}

} // namespace

void list_start(const std::string& folder, const RunListStart& start) {
  if (folder.empty()) return;
  append(folder, "{\"start\":" + std::to_string(::getpid()) + ",\"pid\":" + std::to_string(start.pid) +
                     ",\"parent_pid\":" + std::to_string(start.parent) + ",\"name\":" + quoted(start.name) +
                     ",\"tape\":" + quoted(start.tape) + ",\"started_by\":" + quoted(start.started_by) +
                     ",\"time_ns\":" + number(start.time_ns) + "}\n");
}

void list_end(const std::string& folder, pid_t pid, const std::string& name, const std::string& tape,
              const Summary& summary) {
  if (folder.empty()) return;
  append(folder, "{\"end\":" + std::to_string(::getpid()) + ",\"pid\":" + std::to_string(pid) + ",\"name\":" +
                     quoted(name) + ",\"tape\":" + quoted(tape) + ",\"events\":" + number(summary.events) +
                     ",\"peak_bytes\":" + number(summary.peak_bytes) + ",\"live_bytes\":" + number(summary.live_bytes) +
                     ",\"ending\":" + quoted(ending_name(summary.ending)) +
                     ",\"detail\":" + std::to_string(summary.ending_detail) + "}\n");
}

} // namespace heaptape
