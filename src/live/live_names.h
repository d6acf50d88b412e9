// Names for stacks of a program that still runs: modules and stacks come as they are noticed, names are looked up when
// someone wants to see them, each address once. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "live/live_run_time.h"
#include "report/names/frame_places.h"
#include "report/names/stack_names.h"
#include "report/names/stack_text.h"
#include "symbols/symbolizer.h"
#include "tape/contents.h"
#include "tape/symbols.h"

namespace heaptape {

class LiveNames {
public:
  // Without `look_up` nothing is read from files, and frames are modules and offsets.
  explicit LiveNames(bool look_up = true, SymbolOptions options = {});
  LiveNames(const LiveNames&) = delete;
  LiveNames& operator=(const LiveNames&) = delete;
  ~LiveNames();

  // The program whose files name the code that it makes at run time.
  void follow(pid_t pid) { run_time_.follow(pid); }

  void add_modules(std::span<const Module> modules);
  void add_stacks(StackId first, std::span<const StackNode> nodes);

  // Looks up what the frames of these stacks are called. Takes as long as reading debug information takes.
  void prepare(std::span<const StackId> stacks);

  // The same for those of the stacks that lead through code made at run time: source_hash() tells that by its name.
  void prepare_run_time(std::span<const StackId> stacks);

  // Of stacks that were prepared; of others what is known by chance. Valid until the next call of add_ or prepare().
  StackNames& names();
  StackText& text();

  // Tells a stack from all others and is the same in every run of the same program, wherever its modules are loaded: a
  // hash over the frames, each by its module's build-id (or file name) and the offset in it. The recorder's own frames
  // do not count.
  std::uint64_t source_hash(StackId stack);

private:
  struct File;
  void refresh();
  void want(std::uint64_t address);
  File& file_of(const Module& module);
  bool name_run_time_code(bool has_new);
  void close_unused();

  bool look_up_;
  Symbolizer symbolizer_;
  std::vector<Module> modules_;
  std::vector<StackNode> stacks_ = std::vector<StackNode>(1);
  std::vector<bool> named_ = std::vector<bool>(1, true); // by node: it and all outside it are looked up
  Symbols symbols_;
  std::map<std::pair<std::string, std::vector<std::uint8_t>>, File> files_;
  std::uint64_t preparations_ = 0;
  LiveRunTime run_time_;
  std::vector<StackId> nameless_; // nodes in no module that were asked for and have no name yet

  // Made again when what they were made from has changed.
  std::unique_ptr<FramePlaces> places_;
  std::unique_ptr<StackNames> names_;
  std::unique_ptr<StackText> text_;
};

} // namespace heaptape
