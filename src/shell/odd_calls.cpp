#include "shell/odd_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "report/pages/odd_calls.h"
#include "shell/describe.h"

namespace heaptape {
namespace {

template <class Accept>
std::vector<OddFinding> chosen(Session& session, Accept accept) {
  // Most tapes have none, and why an address was not live takes a pass over the events.
  const std::vector<OddCall>& calls = session.tape().odd_calls().calls;
  if (std::none_of(calls.begin(), calls.end(), accept)) return {};
  std::vector<OddFinding> findings = without_other_runtimes(session.tape(), session.view().names(),
                                                            odd_findings(session.tape(), 1000, session.stopper()));
  std::erase_if(findings, [&](const OddFinding& finding) { return !accept(finding.call); });
  return findings;
}

} // namespace

std::vector<OddFinding> odd_calls_at(Session& session, const MemoryRange& range, bool with_not_live) {
  return chosen(session, [&](const OddCall& call) {
    return call.address != 0 && range.meets(call.address, 1) && call.event <= session.event() &&
           (with_not_live || call.kind != OddKind::NotLive);
  });
}

std::vector<OddFinding> odd_calls_of(Session& session, std::uint64_t event) {
  return chosen(session, [&](const OddCall& call) { return call.event == event; });
}

std::string odd_calls_text(Session& session, const std::vector<OddFinding>& findings) {
  std::string text;
  for (const OddFinding& finding : findings) {
    const OddCall& call = finding.call;
    text += fmt::format("  {} {} s, {}: {}\n", session.style.alarm(odd_place(call) + " at"), seconds_text(call.time_us),
                        thread_text(session, call.thread), odd_sentence(finding));
    text += fmt::format("    {}\n", session.stacks().chain(call.stack, 4));
  }
  return text;
}

void write_odd_calls(JsonWriter& json, Session& session, const std::vector<OddFinding>& findings) {
  json.begin_array();
  for (const OddFinding& finding : findings) {
    const OddCall& call = finding.call;
    json.begin_object().field("sort", std::string_view(odd_sort_name(finding.sort)));
    json.field("call", std::string_view(kind_name(call.call))).field("event", call.event);
    json.field("is_event", is_event(call.kind)).field("time_us", call.time_us).field("thread", call.thread.value);
    if (call.address != 0) json.field("address", std::string_view(hex(call.address)));
    if (call.size != 0) json.field("size", call.size);
    if (finding.other != 0) json.field("other_event", finding.other);
    json.field("sentence", std::string_view(odd_sentence(finding))).key("stack");
    session.stacks().write_json(json, call.stack);
    json.end_object();
  }
  json.end_array();
}

} // namespace heaptape
