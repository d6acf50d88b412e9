#include "shell/describe.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/figures/tree_text.h"

namespace heaptape {

std::string hex(std::uint64_t number) { return fmt::format("{:#x}", number); }

std::string moment_text(std::uint64_t event, std::uint64_t us) {
  return "event " + with_separators(event) + " at " + seconds_text(us) + " s";
}

std::string thread_text(const Session& session, ThreadId thread) {
  return thread_label(session.tape().threads(), thread);
}

std::string ago_text(std::uint64_t then_us, std::uint64_t now_us) {
  if (then_us == now_us) return "in the same microsecond";
  return then_us < now_us ? duration_text(now_us - then_us) + " earlier" : duration_text(then_us - now_us) + " later";
}

std::string block_words(std::uint64_t size) {
  return size == 0 ? "empty block" : with_separators(size) + "-byte block";
}

std::string a_block(std::uint64_t size) {
  const std::string words = block_words(size);
  // An eight, an eleven, an eighteen, and what begins so: eighty, eleven thousand.
  const std::string first = words.substr(0, words.find_first_not_of("0123456789"));
  const bool vowel = first.empty() || first[0] == '8' || first == "11" || first == "18";
  return (vowel ? "an " : "a ") + words;
}

std::string offset_words(std::uint64_t offset) {
  return offset == 0 ? "the start of" : count_of(offset, "byte") + " into";
}

std::string inherited_words(const TapeReader& tape, const Tenant& life) {
  return fmt::format("made {} before the fork by process {}, {}", duration_text(life.age_us),
                     tape.inheritance() ? tape.inheritance()->parent_pid : 0, kind_name(life.kind));
}

std::string life_text(Session& session, StackText& stacks, const Tenant& life, std::uint64_t now_us) {
  std::string text = fmt::format("{}  {}\n", session.style.bold(hex(life.address)), block_words(life.size));
  const auto line = [&](std::string_view what, std::uint64_t event, std::uint64_t us, const Owner& who,
                        const std::string& more) {
    text +=
        fmt::format("  {:<10}event {:<12} {} s  {:<16} {}{}\n{:12}{}\n", what, with_separators(event), seconds_text(us),
                    ago_text(us, now_us), thread_text(session, who.thread), more, "", stacks.chain(who.stack, 4));
  };
  if (life.inherited)
    text += fmt::format("  {:<10}{}\n{:12}{}\n", "inherited", inherited_words(session.tape(), life), "",
                        stacks.chain(life.owner.stack, 4));
  else
    line(life.from != 0 ? "realloc'd" : "made", life.event, life.time_us, life.owner,
         life.from == life.address ? ", grown or shrunk in place"
         : life.from != 0          ? ", moved from " + hex(life.from)
                                   : fmt::format(", {}", kind_name(life.kind)));
  switch (life.ended) {
  case LifeEnd::Live: text += fmt::format("  {:<10}after {}\n", "live", duration_text(life.lived_us(now_us))); break;
  case LifeEnd::Released:
    line("freed", life.end_event, life.end_us, life.ender,
         fmt::format(", {}, after {}", kind_name(life.end_kind), duration_text(life.lived_us(life.end_us))));
    break;
  case LifeEnd::Reallocated:
    line("realloc'd", life.end_event, life.end_us, life.ender,
         (life.to == life.address ? ", grown or shrunk in place" : ", moved to " + hex(life.to)) + ", after " +
             duration_text(life.lived_us(life.end_us)));
    break;
  case LifeEnd::Unseen:
    text += fmt::format("  {:<10}before event {}, which made another block here; its release is not on the tape\n",
                        "gone", with_separators(life.end_event));
    break;
  }
  return text;
}

std::string bad_release_text(Session& session, const Event& event) {
  const std::uint64_t address = is_reallocation(event.kind) ? event.old_address : event.address;
  return fmt::format("{}  {} of what was no block then: {} ({})\n{:12}{}\n", session.style.alarm(hex(address)),
                     kind_name(event.kind), thread_text(session, event.thread),
                     moment_text(event.number, event.time_us), "", session.stacks().chain(event.stack, 4));
}

void write_block_json(JsonWriter& json, Session& session, StackText& stacks, const Block& block) {
  const Owner owner = session.heap().owner_of(block);
  json.begin_object().field("address", std::string_view(hex(block.address))).field("size", block.size);
  json.field("event", block.event).field("time_us", block.time_us).field("thread", owner.thread.value);
  json.field("age_us", session.time_us() - std::min(session.time_us(), block.time_us));
  json.field("stack_id", owner.stack.value).key("stack");
  stacks.write_json(json, owner.stack);
  json.end_object();
}

void write_life_json(JsonWriter& json, StackText& stacks, const Tenant& life) {
  json.begin_object().field("address", std::string_view(hex(life.address))).field("size", life.size);
  json.field("kind", kind_name(life.kind)).field("event", life.event).field("time_us", life.time_us);
  json.field("thread", life.owner.thread.value);
  if (life.inherited) json.field("inherited", true).field("age_at_fork_us", life.age_us);
  if (life.from != 0) json.field("from", std::string_view(hex(life.from)));
  json.key("stack");
  stacks.write_json(json, life.owner.stack);
  if (life.ended == LifeEnd::Live) {
    json.key("end").null();
  } else {
    json.key("end").begin_object();
    json.field("how", life.ended == LifeEnd::Released      ? "released"
                      : life.ended == LifeEnd::Reallocated ? "reallocated"
                                                           : "unseen");
    json.field("event", life.end_event).field("time_us", life.end_us);
    if (life.ended != LifeEnd::Unseen) {
      json.field("kind", kind_name(life.end_kind)).field("thread", life.ender.thread.value);
      if (life.to != 0) json.field("to", std::string_view(hex(life.to)));
      json.key("stack");
      stacks.write_json(json, life.ender.stack);
    }
    json.end_object();
  }
  json.end_object();
}

std::string event_titles() {
  return fmt::format("{:>11} {:>11} {:<4} {:<8} {:<14} {:>10}  {}\n", "event", "time s", "thr", "kind", "address",
                     "size", "by");
}

std::string event_line(const Event& event, const Block* ended) {
  const bool released = event.size == 0 && !has_size(event.kind);
  const std::string size = !released          ? with_separators(event.size)
                           : ended != nullptr ? "(" + with_separators(ended->size) + ")"
                                              : "";
  std::string kind = kind_name(event.kind);
  if (kind.starts_with("mmap")) kind = "mmap";
  if (is_pool(event.kind)) kind.replace(0, std::string_view("pool ").size(), "p.");
  if (kind.starts_with("operator ")) kind.erase(0, std::string_view("operator ").size());
  std::string line =
      fmt::format("{:>11} {:>11} {:<4} {:<8} {:<14} {:>10}", with_separators(event.number), seconds_text(event.time_us),
                  "T" + std::to_string(event.thread.value), kind, hex(event.address), size);
  const std::uint64_t replaced = replaced_by(event);
  if (replaced != 0 && replaced != event.address) line += " of " + hex(replaced);
  return line;
}

} // namespace heaptape
