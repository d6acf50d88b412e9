#include "live/live_names.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/path_text.h"
#include "tape/format.h"
#include "wire/stack_roots.h"

namespace heaptape {
namespace {

// Debug information of large programs is large; it is dropped when no new stack was shown for a while.
constexpr std::uint64_t kUnusedFor = 16; // preparations

bool is_recorder(const Module& module) { return base_name(module.path).starts_with("libheaptape.so"); }

} // namespace

struct LiveNames::File {
  std::optional<ModuleSymbols> symbols{};
  std::vector<std::uint64_t> wanted{}; // addresses
  std::uint64_t last_used = 0;
};

LiveNames::LiveNames(bool look_up, SymbolOptions options) : look_up_(look_up), symbolizer_(std::move(options)) {}
LiveNames::~LiveNames() = default;

void LiveNames::add_modules(std::span<const Module> modules) {
  if (modules.empty()) return;
  modules_.insert(modules_.end(), modules.begin(), modules.end());
  text_.reset(), names_.reset(), places_.reset();
}

void LiveNames::add_stacks(StackId first, std::span<const StackNode> nodes) {
  if (nodes.empty()) return;
  const std::size_t end = std::size_t{first.value} + nodes.size();
  if (stacks_.size() < end) stacks_.resize(end);
  if (named_.size() < end) named_.resize(end, false);
  std::copy(nodes.begin(), nodes.end(), stacks_.begin() + first.value);
  text_.reset(), names_.reset(), places_.reset();
}

void LiveNames::refresh() {
  if (!places_) places_ = std::make_unique<FramePlaces>(modules_, stacks_, symbols_);
}

StackNames& LiveNames::names() {
  if (!names_) {
    names_ = std::make_unique<StackNames>(modules_, stacks_, symbols_, NameForm::Short);
    std::vector<Pattern> plumbing;
    if (const char* expression = std::getenv("HEAPTAPE_PLUMBING"); expression != nullptr && *expression != '\0') {
      if (Result<Pattern> pattern = Pattern::compile(expression)) plumbing.push_back(std::move(pattern).value());
    }
    names_->set_plumbing(std::move(plumbing));
  }
  return *names_;
}

StackText& LiveNames::text() {
  if (!text_) text_ = std::make_unique<StackText>(names());
  return *text_;
}

LiveNames::File& LiveNames::file_of(const Module& module) {
  File& file = files_[{module.path, module.build_id}];
  file.last_used = preparations_;
  if (!file.symbols) file.symbols.emplace(symbolizer_.open({.path = module.path, .build_id = module.build_id}));
  return file;
}

void LiveNames::want(std::uint64_t address) {
  places_->modules().each_at(address, [&](const Module& module) {
    if (!is_recorder(module)) file_of(module).wanted.push_back(address - module.load_bias);
  });
}

void LiveNames::prepare(std::span<const StackId> stacks) {
  if (!look_up_) return;
  ++preparations_;
  refresh();
  std::vector<StackId> fresh;
  for (StackId stack : stacks) {
    while (stack.value < stacks_.size() && !named_[stack.value]) {
      named_[stack.value] = true;
      fresh.push_back(stack);
      if (stacks_[stack.value].parent.value >= stack.value) break; // never on a good tape
      stack = stacks_[stack.value].parent;
    }
  }
  const std::size_t nameless_before = nameless_.size();
  // Whether a frame is a signal trampoline decides what the address outside it means.
  std::vector<std::pair<Symbols::File, std::uint64_t>> trampolines;
  for (const StackId id : fresh) {
    const StackNode& node = stacks_[id.value];
    if (node.pc < wire::kFirstAddress) continue;
    bool trampoline = false, in_module = false;
    places_->modules().each_at(inside_the_call(node.pc), [&](const Module&) { in_module = true; });
    places_->modules().each_at(node.pc, [&](const Module& module) {
      in_module = true;
      const std::uint64_t address = node.pc - module.load_bias;
      if (is_recorder(module) || !file_of(module).symbols->is_signal_trampoline(address)) return;
      trampoline = true;
      trampolines.emplace_back(symbols_.add_file(module.path, module.build_id), address);
    });
    if (!in_module) nameless_.push_back(id);
    want(trampoline ? node.pc : inside_the_call(node.pc));
    if (trampoline && node.parent.value < stacks_.size()) want(stacks_[node.parent.value].pc);
  }
  for (auto& [key, file] : files_) {
    std::vector<std::uint64_t> addresses = std::exchange(file.wanted, {});
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    if (addresses.empty() || !file.symbols) continue;
    const Symbols::File stored = symbols_.add_file(key.first, key.second);
    const std::vector<SourcePlaces> found = file.symbols->find(addresses);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool trampoline =
          std::find(trampolines.begin(), trampolines.end(), std::pair(stored, addresses[i])) != trampolines.end();
      if (trampoline && found[i].empty())
        symbols_.set(stored, addresses[i], std::vector{SourcePlace{.function = "__restore_rt"}}, true);
      else
        symbols_.set(stored, addresses[i], found[i], trampoline);
    }
  }
  close_unused();
  const bool named = name_run_time_code(nameless_.size() != nameless_before);
  if (named || !fresh.empty()) text_.reset(), names_.reset(), places_.reset();
}

void LiveNames::prepare_run_time(std::span<const StackId> stacks) {
  if (!look_up_) return;
  refresh();
  std::vector<StackId> wanted;
  for (const StackId stack : stacks) {
    bool found = false;
    (void)places_->each_frame(stack, [&](const Frame& frame) { found |= frame.module == nullptr; });
    if (found) wanted.push_back(stack);
  }
  if (!wanted.empty()) prepare(wanted);
}

// A name may come later than the code that it is for: a perf map is written now and then, or when someone asks for it.
bool LiveNames::name_run_time_code(bool has_new) {
  if (nameless_.empty()) return false;
  const auto address_of = [&](StackId node) { return inside_the_call(stacks_[node.value].pc); };
  std::vector<std::uint64_t> addresses;
  for (const StackId node : nameless_) addresses.push_back(address_of(node));
  const std::map<std::uint64_t, RunTimePlace> places = run_time_.find(addresses, has_new);
  const auto is_named = [&](StackId node) {
    const auto place = places.find(address_of(node));
    if (place == places.end()) return false;
    RunTimeCode code = place->second.code;
    code.frames = {{node, place->second.line}};
    symbols_.add_run_time(std::move(code));
    return true;
  };
  return std::erase_if(nameless_, is_named) != 0;
}

void LiveNames::close_unused() {
  for (auto& [key, file] : files_) {
    if (file.symbols && preparations_ - file.last_used > kUnusedFor) file.symbols.reset();
  }
}

std::uint64_t LiveNames::source_hash(StackId stack) {
  refresh();
  std::string bytes;
  const auto put = [&](std::uint64_t number) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i));
  };
  const std::uint64_t cut = places_->each_frame(stack, [&](const Frame& frame) {
    if (frame.module == nullptr) {
      bytes += "?"; // made at run time: nothing about its address is stable
      if (!frame.places.empty()) bytes.append(frame.places.front().function).append(frame.places.front().file);
      return;
    }
    if (is_recorder(*frame.module)) return;
    const auto& id = frame.module->build_id;
    if (!id.empty())
      bytes.append(reinterpret_cast<const char*>(id.data()), id.size());
    else
      bytes += base_name(frame.module->path);
    put(frame.offset);
  });
  put(cut);
  return format::checksum(std::as_bytes(std::span(bytes)));
}

} // namespace heaptape
