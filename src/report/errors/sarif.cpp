#include "report/errors/sarif.h"

#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/errors/error_words.h"
#include "report/names/charged_function.h"
#include "report/text/json_writer.h"

namespace heaptape {
namespace {

// What each sort is, for somebody who has not read the guide.
std::string_view rule_text(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::WriteBehind: return "Bytes behind the end of a block were written.";
  case ErrorKind::WriteBefore: return "Bytes before the start of a block were written.";
  case ErrorKind::WriteFreed: return "A block was written to after its release.";
  case ErrorKind::ReadOutside: return "A block was read beyond its bounds.";
  case ErrorKind::WriteOutside: return "A block was written beyond its bounds.";
  case ErrorKind::ReadFreed: return "A released block was read.";
  case ErrorKind::WriteIntoFreed: return "A released block was written to.";
  case ErrorKind::WrongAlignment: return "A block was released with another alignment than it was made with.";
  case ErrorKind::DoubleFree: return "A block was released twice.";
  case ErrorKind::FreeInside: return "An address inside a block was released.";
  case ErrorKind::FreeOfStack: return "Memory on a stack was released.";
  case ErrorKind::FreeOfStatic: return "Static memory was released.";
  case ErrorKind::FreeOfForeign: return "What was never a block was released.";
  case ErrorKind::Mismatch: return "A block was released by functions of another family than made it.";
  case ErrorKind::WrongSize: return "A block was released with another size than it was made with.";
  case ErrorKind::Other: break;
  }
  return "A memory error.";
}

std::string uri_of(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("/-._~+").find(c) != std::string_view::npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", byte);
  }
  return uri;
}

class Sarif {
public:
  Sarif(const TapeView& view) : view_(view), names_(view.names()), plumbing_(names_) {
    const auto found = view.tape().meta().find("directory");
    if (found == view.tape().meta().end() || !found->second.starts_with('/')) return;
    root_ = found->second;
    if (!root_.ends_with('/')) root_ += '/';
  }

  std::string write(const ErrorList& list, const std::string& version) {
    json_.begin_object().field("$schema", "https://json.schemastore.org/sarif-2.1.0.json").field("version", "2.1.0");
    json_.key("runs").begin_array().begin_object().key("tool").begin_object().key("driver").begin_object();
    json_.field("name", "heaptape").field("semanticVersion", std::string_view(version)).key("rules").begin_array();
    const std::vector<ErrorKind> rules = write_rules(list);
    json_.end_array().end_object().end_object();
    if (!root_.empty()) {
      json_.key("originalUriBaseIds").begin_object().key("SRCROOT").begin_object();
      json_.field("uri", std::string_view("file://" + uri_of(root_))).end_object().end_object();
    }
    json_.field("columnKind", "utf16CodeUnits").key("results").begin_array();
    for (const ErrorContext& error : list.contexts) write_result(error, rules);
    json_.end_array().end_object().end_array().end_object();
    return json_.text() + "\n";
  }

private:
  // The sorts that occur, in the order in which they stand there.
  std::vector<ErrorKind> write_rules(const ErrorList& list) {
    std::array<bool, kErrorKinds> occurs{};
    for (const ErrorContext& error : list.contexts) occurs[static_cast<std::size_t>(error.kind)] = true;
    std::vector<ErrorKind> rules;
    for (std::size_t i = 0; i < kErrorKinds; ++i) {
      const auto kind = static_cast<ErrorKind>(i);
      if (!occurs[i]) continue;
      rules.push_back(kind);
      json_.begin_object().field("id", error_kind_name(kind)).key("shortDescription").begin_object();
      json_.field("text", rule_text(kind)).end_object().key("defaultConfiguration").begin_object();
      json_.field("level", "error").end_object().end_object();
    }
    return rules;
  }

  void write_result(const ErrorContext& error, const std::vector<ErrorKind>& rules) {
    std::size_t rule = 0;
    while (rules[rule] != error.kind) ++rule;
    json_.begin_object().field("ruleId", error_kind_name(error.kind)).field("ruleIndex", rule).field("level", "error");
    std::string text =
        error_headline(error, view_.tape().threads()) + "; " + found_words(error, view_.tape().threads());
    for (const std::string& more : {interval_words(error), place_words(error)})
      if (!more.empty()) text += "; " + more;
    message(text + ".");
    json_.field("occurrenceCount", error.count).key("locations").begin_array();
    // The call that found a write may have no line, and is not to blame for it; least of all the program's end.
    const bool at_end = is_damage(error.kind) && error.found.found == FoundAt::Exit && error.block;
    if ((at_end || !location(error.found.stack, {}, 0)) && error.block) location(error.block->owner.stack, {}, 0);
    json_.end_array().key("relatedLocations").begin_array();
    if (error.block) {
      location(error.block->owner.stack, "allocated here", 1);
      if (error.block->ender.stack.value != 0) location(error.block->ender.stack, "released here", 2);
    }
    json_.end_array().key("stacks").begin_array();
    stack(error.found.stack, is_damage(error.kind) ? "found here" : "here");
    if (error.block) {
      stack(error.block->owner.stack, "allocated here");
      stack(error.block->ender.stack, "released here");
    }
    json_.end_array().end_object();
  }

  void message(std::string_view text) { json_.key("message").begin_object().field("text", text).end_object(); }

  // The frame that a stack is charged to, or the next one outside of it whose line is known.
  std::optional<FrameId> frame_with_line(StackId stack) {
    const std::vector<FrameId> frames = names_.frames_of(stack);
    if (frames.empty()) return std::nullopt;
    for (std::size_t i = charged_frame(plumbing_, frames); i < frames.size(); ++i)
      if (names_[frames[i]].file.value != 0) return frames[i];
    return std::nullopt;
  }

  // False, and nothing: there is none.
  bool location(StackId stack, std::string_view text, unsigned id) {
    const std::optional<FrameId> frame = frame_with_line(stack);
    if (!frame) return false;
    json_.begin_object();
    if (id != 0) json_.field("id", id);
    if (!text.empty()) message(text);
    place(*frame);
    json_.end_object();
    return true;
  }

  // Fields of a location.
  void place(FrameId frame) {
    const NamedFrame& named = names_[frame];
    if (named.file.value != 0) {
      const std::string_view path = names_.text(named.file);
      json_.key("physicalLocation").begin_object().key("artifactLocation").begin_object();
      if (!root_.empty() && path.starts_with(root_))
        json_.field("uri", std::string_view(uri_of(path.substr(root_.size())))).field("uriBaseId", "SRCROOT");
      else
        json_.field("uri", std::string_view((path.starts_with('/') ? "file://" : "") + uri_of(path)));
      json_.end_object();
      if (named.line != 0) {
        json_.key("region").begin_object().field("startLine", named.line);
        if (named.column != 0) json_.field("startColumn", named.column);
        json_.end_object();
      }
      json_.end_object();
    }
    json_.key("logicalLocations").begin_array().begin_object();
    json_.field("fullyQualifiedName", names_.function(frame)).field("kind", "function").end_object().end_array();
  }

  void stack(StackId stack, std::string_view text) {
    const std::vector<FrameId> frames = names_.frames_of(stack);
    if (frames.empty()) return;
    json_.begin_object();
    message(text);
    json_.key("frames").begin_array();
    for (const FrameId frame : frames) {
      json_.begin_object().key("location").begin_object();
      place(frame);
      json_.end_object().field("module", names_.text(names_[frame].module_name)).end_object();
    }
    json_.end_array().end_object();
  }

  const TapeView& view_;
  StackNames& names_;
  Plumbing plumbing_;
  JsonWriter json_;
  std::string root_; // the program's directory, ended by a slash; empty: not known
};

} // namespace

std::string error_sarif(const TapeView& view, const ErrorList& list, const std::string& version) {
  return Sarif(view).write(list, version);
}

} // namespace heaptape
