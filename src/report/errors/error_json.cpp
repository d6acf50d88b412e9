#include "report/errors/error_json.h"

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/errors/error_words.h"
#include "report/names/stack_text.h"
#include "report/pages/memory_errors.h"
#include "tape/event.h"

namespace heaptape {
namespace {

const char* end_name(LifeEnd end) {
  switch (end) {
  case LifeEnd::Live: return "live";
  case LifeEnd::Released: return "released";
  case LifeEnd::Reallocated: return "reallocated";
  case LifeEnd::Unseen: break;
  }
  return "unseen";
}

class List {
public:
  List(JsonWriter& json, const TapeView& view) : json_(json), view_(view), stacks_(view.names()) {}

  void write(const ErrorContext& error) {
    const MemoryError& found = error.found;
    json_.begin_object().field("number", error.number).field("sort", error_kind_name(error.kind));
    text("headline", error_headline(error, view_.tape().threads()));
    json_.field("count", error.count).field("last_event", error.last_event);
    json_.field("found", error.release ? "call" : found_at_name(found.found));
    if (const std::string called = called_function(error); !called.empty()) text("call", called);
    json_.field("event", found.event).field("is_event", error.is_event()).field("time_us", found.time_us);
    json_.field("thread", found.thread.value);
    if (found.address != 0) address("address", found.address);
    if (error.release) {
      if (error.release->call.size != 0) json_.field("given_bytes", error.release->call.size);
      if (error.release->sort == OddSort::OnStack) json_.field("stack_of_thread", error.release->stack_of.value);
      if (error.release->module != nullptr) text("module", error.release->module->path);
    } else if (error.kind == ErrorKind::WrongAlignment) {
      json_.field("alignment", found.length).field("given_alignment", found.given);
    } else {
      json_.field("length", found.length);
    }
    if (!found.bytes.empty()) {
      text("bytes", hex_text(found.bytes));
      text("expected", fmt::format("{:02x}", found.expected));
    }
    if (found.whole_us != 0) json_.field("whole_us", found.whole_us);
    stack(found.stack);
    if (found.block != 0) {
      json_.key("block").begin_object();
      address("address", found.block);
      json_.field("bytes", found.block_size);
      if (error.block) life(*error.block);
      json_.end_object();
    }
    block("before", error.before);
    block("behind", error.behind);
    json_.key("former_blocks").begin_array();
    for (const Tenant& owner : error.former) {
      json_.begin_object();
      address("address", owner.address);
      json_.field("bytes", owner.size);
      life(owner);
      json_.end_object();
    }
    json_.end_array().end_object();
  }

private:
  void text(std::string_view name, const std::string& value) { json_.field(name, std::string_view(value)); }
  void address(std::string_view name, std::uint64_t value) { text(name, fmt::format("{:#x}", value)); }
  void stack(StackId id) {
    json_.field("stack_id", id.value);
    stacks_.write_json(json_.key("stack"), id);
  }
  void block(std::string_view name, const std::optional<Tenant>& tenant) {
    if (!tenant) return;
    json_.key(name).begin_object();
    address("address", tenant->address);
    json_.field("bytes", tenant->size);
    life(*tenant);
    json_.end_object();
  }
  // Fields of an object.
  void life(const Tenant& tenant) {
    json_.key("allocated").begin_object().field("call", kind_name(tenant.kind)).field("event", tenant.event);
    json_.field("time_us", tenant.time_us).field("thread", tenant.owner.thread.value);
    stack(tenant.owner.stack);
    json_.end_object().field("state", end_name(tenant.ended));
    if (tenant.ended != LifeEnd::Released && tenant.ended != LifeEnd::Reallocated) return;
    json_.key("released").begin_object().field("call", kind_name(tenant.end_kind)).field("event", tenant.end_event);
    json_.field("time_us", tenant.end_us).field("thread", tenant.ender.thread.value);
    stack(tenant.ender.stack);
    json_.end_object();
  }

  JsonWriter& json_;
  const TapeView& view_;
  StackText stacks_;
};

} // namespace

void write_error_list(JsonWriter& json, const TapeView& view, const ErrorList& list) {
  json.begin_object().field("checked", list.checked).field("mode", std::string_view(list.mode));
  json.field("error_count", list.errors).field("context_count", list.contexts.size());
  json.field("suppressed_errors", list.suppressed_errors).field("suppressed_contexts", list.suppressed_contexts);
  json.field("left_out", list.left_out).key("errors").begin_array();
  List writer(json, view);
  for (const ErrorContext& error : list.contexts) writer.write(error);
  json.end_array().end_object();
}

} // namespace heaptape
