#include "shell/origin.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/figures/tree_text.h"
#include "shell/describe.h"

namespace heaptape {

namespace {

std::string meta_of(const TapeReader& tape, const char* name) {
  const auto found = tape.meta().find(name);
  return found != tape.meta().end() ? found->second : std::string();
}

std::string line(std::string_view label, const std::string& text) { return fmt::format("{:<8}{}\n", label, text); }

std::string ago(std::uint64_t then_us, std::uint64_t now_us) {
  return then_us >= now_us ? "just now" : duration_text(now_us - then_us) + " ago";
}

std::string state_text(const Origin& origin) {
  const Tenant& block = *origin.block;
  switch (block.ended) {
  case LifeEnd::Live: return "live, " + duration_text(block.lived_us(origin.time_us)) + " old";
  case LifeEnd::Released:
    return "freed " + ago(block.end_us, origin.time_us) + ", after a life of " +
           duration_text(block.lived_us(block.end_us));
  case LifeEnd::Reallocated:
    return (block.to == block.address ? "changed in place by realloc " : "moved to " + hex(block.to) + " by realloc ") +
           ago(block.end_us, origin.time_us) + ", after a life of " + duration_text(block.lived_us(block.end_us));
  case LifeEnd::Unseen: return "gone; its release is not on the tape";
  }
  return "";
}

class OriginText {
public:
  OriginText(const TapeReader& tape, StackText& stacks, const TextStyle& style)
      : tape_(tape), stacks_(stacks), style_(style) {}

  std::string life(const Origin& origin) const {
    const Tenant& block = *origin.block;
    const std::uint64_t offset = origin.offset();
    std::string text = line("Len:", count_of(block.size, "byte") + " at " + hex(block.address));
    text += line("Offset:", offset == 0 ? "0, the start of the block" : count_of(offset, "byte") + " into the block");
    text += line("State:", style_.bold(state_text(origin)));
    const std::string how = block.from == 0               ? kind_name(block.kind)
                            : block.from == block.address ? "realloc in place"
                                                          : "realloc of " + hex(block.from);
    if (block.inherited)
      text += line("Made:", inherited_words(tape_, block)) + stacks_.backtrace(block.owner.stack, style_);
    else
      text += step("Made:", block.event, block.time_us, block.owner, how);
    if (block.ended == LifeEnd::Released || block.ended == LifeEnd::Reallocated) {
      text += step(block.ended == LifeEnd::Released ? "Freed:" : "Moved:", block.end_event, block.end_us, block.ender,
                   kind_name(block.end_kind));
    }
    return text;
  }

private:
  std::string step(std::string_view label, std::uint64_t event, std::uint64_t us, const Owner& who,
                   const std::string& how) const {
    return line(label,
                fmt::format("{} by {}, {}", how, thread_label(tape_.threads(), who.thread), moment_text(event, us))) +
           stacks_.backtrace(who.stack, style_);
  }

  const TapeReader& tape_;
  StackText& stacks_;
  const TextStyle& style_;
};

} // namespace

std::vector<StackId> Origin::stacks() const {
  std::vector<StackId> all;
  for (const std::optional<Tenant>* life : {&block, &before}) {
    if (!*life) continue;
    all.push_back((*life)->owner.stack);
    all.push_back((*life)->ender.stack);
  }
  return all;
}

Moment end_of(const TapeReader& tape) {
  std::uint64_t event = 0, time_us = tape.summary() ? tape.summary()->duration_us : 0;
  if (!tape.event_chunks().empty()) {
    const EventChunkInfo& last = tape.event_chunks().back();
    event = last.last_number();
    time_us = std::max(time_us, last.last_us);
  }
  if (!tape.samples().empty()) time_us = std::max(time_us, tape.samples().back().time_us);
  return {event, time_us};
}

Origin origin_of(const AddressFacts& facts, std::uint64_t time_us) {
  Origin origin{.address = facts.address, .event = facts.event, .time_us = time_us};
  const Tenant* last = facts.last();
  if (last == nullptr) return origin;
  origin.block = *last;
  if (last->ended != LifeEnd::Live) return origin;
  if (const Tenant* before = facts.before(last->event)) origin.before = *before;
  return origin;
}

std::string origin_text(const TapeReader& tape, StackText& stacks, const Origin& origin, const TextStyle& style) {
  const OriginText text(tape, stacks, style);
  const std::string program = meta_of(tape, "program");
  std::string out = line("PID:", meta_of(tape, "pid") + (program.empty() ? "" : "  " + printable(program)));
  out += text.life(origin);
  if (origin.before) {
    const Tenant& before = *origin.before;
    std::string past = fmt::format("part of {} of {}, gone {}", a_block(before.size),
                                   stacks.chain(before.owner.stack, 1), ago(before.end_us, origin.time_us));
    if (before.ended == LifeEnd::Released || before.ended == LifeEnd::Reallocated)
      past += fmt::format(", {} by {}", before.ended == LifeEnd::Released ? "freed" : "moved",
                          stacks.chain(before.ender.stack, 1));
    out += line("Before:", past);
  }
  return out;
}

void write_origin_json(JsonWriter& json, const TapeReader& tape, StackText& stacks, const Origin& origin) {
  json.begin_object().field("pid", std::string_view(meta_of(tape, "pid")));
  json.field("program", std::string_view(meta_of(tape, "program")));
  json.field("address", std::string_view(hex(origin.address))).field("event", origin.event);
  json.field("time_us", origin.time_us).field("in_block", origin.block.has_value());
  if (origin.block) {
    json.field("offset", origin.offset()).key("block");
    write_life_json(json, stacks, *origin.block);
  }
  if (origin.before) {
    json.key("before");
    write_life_json(json, stacks, *origin.before);
  }
  json.end_object();
}

} // namespace heaptape
