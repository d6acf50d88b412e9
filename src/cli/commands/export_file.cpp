#include "cli/commands/export_file.h"

#include "base/characters.h"
#include "base/path_text.h"
#include "cli/terminal/console.h"
#include "cli/terminal/exit_codes.h"

namespace heaptape::cli {

std::string name_beside(const std::string& tape, std::string_view suffix) {
  std::string name(base_name(tape));
  if (name.ends_with(".tape")) name.erase(name.size() - 5);
  return name + std::string(suffix);
}

int write_file(const MakeFile& file, bool binary, const std::function<Result<>(OutputFile&)>& write) {
  Result<OutputFile> output = OutputFile::create(file);
  if (!output) return fail(output.error());
  if (binary && output.value().is_terminal()) {
    say("this format is binary; give a file with -o, or pipe it");
    return kTrouble;
  }
  Result<> written = write(output.value());
  if (written.ok()) written = output.value().keep();
  if (written.ok()) return kOk;
  return output.value().reader_gone() ? kTrouble : fail(written.error());
}

int write_file(const MakeFile& file, Packing packing, bool binary, const std::function<void(Sink&)>& write) {
  return write_file(file, binary, [&](OutputFile& output) {
    const bool shown = packing == Packing::Plain && output.is_terminal();
    Sink sink([&](std::string_view bytes) { return output.write(shown ? printable_lines(bytes) : bytes); }, packing);
    write(sink);
    return sink.finish();
  });
}

} // namespace heaptape::cli
