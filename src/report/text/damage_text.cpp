#include "report/text/damage_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/number_text.h"
#include "report/text/json_text.h"

namespace heaptape {
namespace {

// Enough for the tape of a long run; larger ones are checked in part.
constexpr std::uint64_t kCheckedBytes = std::uint64_t{256} << 20;

std::uint64_t events_of(const TapeReader& tape) {
  const auto& chunks = tape.event_chunks();
  const std::uint64_t last = chunks.empty() ? 0 : chunks.back().last_number();
  return std::max(last, tape.summary() ? tape.summary()->events : 0);
}

std::string reasons_of(const std::vector<Damage>& places) {
  std::set<std::string> reasons;
  for (const Damage& place : places) reasons.insert(place.reason);
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : ", ") + reason;
  return text;
}

} // namespace

TapeDamage damage_of(const TapeReader& tape) {
  TapeDamage damage{.places = tape.damage(), .all_events = events_of(tape)};
  damage.missing_events = damage.all_events - std::min(damage.all_events, tape.event_count());
  damage.file_header = tape.header().damaged;
  damage.all_checked = tape.file_bytes() <= kCheckedBytes;
  for (const Damage& chunk : tape.check_event_chunks(kCheckedBytes)) {
    const auto& all = tape.event_chunks();
    const auto found = std::partition_point(all.begin(), all.end(),
                                            [&](const EventChunkInfo& info) { return info.offset < chunk.offset; });
    const bool is_events = found != all.end() && found->offset == chunk.offset; // else pages of snapshots
    damage.missing_events += is_events ? found->count : 0;
    damage.places.push_back(chunk);
  }
  std::stable_sort(damage.places.begin(), damage.places.end(),
                   [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
  for (const Damage& place : damage.places) damage.bytes += place.bytes;
  return damage;
}

std::string damage_sentence(const TapeDamage& damage, std::uint64_t uncounted_events) {
  if (damage.empty()) return {};
  const bool only_cut =
      damage.missing_events == 0 && std::all_of(damage.places.begin(), damage.places.end(),
                                                [](const Damage& place) { return place.reason == "cut off"; });
  if (only_cut)
    return "its last " + count_of(damage.bytes, "byte") + " are torn off, and what came after them is missing";
  std::string text;
  if (!damage.places.empty()) {
    text = count_of(damage.bytes, "byte") + " skipped";
    text += damage.places.size() == 1 ? fmt::format(" at offset {}", damage.places.front().offset)
                                      : " in " + count_of(damage.places.size(), "place");
    text += " (" + reasons_of(damage.places) + ")";
  }
  if (damage.missing_events == 0) {
    text += damage.all_checked ? "; no event is missing" : "; no event is known to be missing";
  } else {
    text += fmt::format("{}{}{} of {} missing", text.empty() ? "" : "; ", damage.all_checked ? "" : "at least ",
                        with_separators(damage.missing_events), count_of(damage.all_events, "event"));
    text += uncounted_events != 0
                ? ", and all answers are without them"
                : "; totals were counted while they were whole, but answers that need these events are incomplete";
  }
  if (damage.file_header) text += "; the file header is damaged, so when the recording began is not known";
  return text;
}

std::string damage_fields(const TapeDamage& damage) {
  std::string text = "\"damage\":[";
  for (const Damage& place : damage.places) {
    text += fmt::format("{}{{\"offset\":{},\"bytes\":{},\"reason\":{}}}", &place == &damage.places.front() ? "" : ",",
                        place.offset, place.bytes, json_string(place.reason));
  }
  return text + fmt::format("],\"missing_events\":{}", damage.missing_events);
}

std::string with_damage(std::string json, const TapeDamage& damage) {
  if (damage.empty() || !json.starts_with('{')) return json;
  const bool has_fields = json.size() > 1 && json[1] != '}';
  return json.insert(1, damage_fields(damage) + (has_fields ? "," : ""));
}

std::vector<std::string> damage_sentences(const std::vector<Damage>& damage) {
  constexpr std::size_t kListed = 10;
  std::vector<std::string> sentences;
  std::uint64_t unlisted_bytes = 0;
  for (std::size_t i = 0; i < damage.size(); ++i) {
    if (i < kListed) {
      sentences.push_back(fmt::format("{} skipped at offset {}: {}", count_of(damage[i].bytes, "byte"),
                                      damage[i].offset, damage[i].reason));
    } else {
      unlisted_bytes += damage[i].bytes;
    }
  }
  if (damage.size() > kListed) {
    sentences.push_back(fmt::format("{} skipped in {}", count_of(unlisted_bytes, "byte"),
                                    count_of(damage.size() - kListed, "further place")));
  }
  return sentences;
}

} // namespace heaptape
