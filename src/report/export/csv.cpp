#include "report/export/csv.h"

#include <unordered_map>

namespace heaptape {
namespace {

// A field that a spreadsheet would take for a formula ("=cmd|...", "+1") is the program's text, not ours to run: it
// gets an apostrophe in front, which spreadsheets hide.
void add_field(Sink& sink, std::string_view text) {
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  if (!formula && text.find_first_of(",\"\r\n") == text.npos) {
    sink.add(text);
    return;
  }
  sink.add(formula ? "\"'" : "\"");
  for (const char c : text) sink.add(c == '"' ? std::string_view("\"\"") : std::string_view(&c, 1));
  sink.add("\"");
}

void add_cost(Sink& sink, const Cost& cost) { sink.print(",{},{}", cost.bytes, cost.blocks); }

} // namespace

void export_csv(const ExportInput& input, Sink& sink) {
  sink.add("stack,function,file,line,module,allocated_bytes,allocated_blocks,freed_bytes,freed_blocks,live_bytes,"
           "live_blocks,peak_bytes,peak_blocks,temporary_bytes,temporary_blocks,short_lived_bytes,short_lived_blocks,"
           "lifetime_us,largest_bytes,frames\r\n");
  for (const StackFigures& figures : input.findings().by_stack) {
    const std::vector<FrameId> frames = input.names.frames_of(figures.stack);
    sink.print("{},", figures.stack.value);
    if (frames.empty()) {
      sink.add(",,,");
    } else {
      const NamedFrame& inner = input.names[frames.front()];
      add_field(sink, input.names.text(inner.function));
      sink.add(",");
      add_field(sink, input.names.text(inner.file));
      sink.add(",");
      if (inner.line != 0) sink.print("{}", inner.line);
      sink.add(",");
      add_field(sink, input.names.text(inner.module_name));
    }
    for (const Cost& cost :
         {figures.allocated, figures.freed, figures.live(), figures.at_peak, figures.temporary, figures.short_lived})
      add_cost(sink, cost);
    sink.print(",{},{},", figures.lifetime_us, figures.largest);
    std::string stack;
    for (const FrameId frame : frames) {
      if (!stack.empty()) stack += " <- ";
      stack += input.names.function(frame);
    }
    add_field(sink, stack);
    sink.add("\r\n");
  }
}

void export_events_csv(const ExportInput& input, Sink& sink) {
  std::unordered_map<ThreadId, std::uint32_t> tids;
  for (const Thread& thread : input.tape.threads()) tids[thread.id] = thread.tid;
  sink.add("event,time_us,thread,tid,kind,address,size,old_address,stack\r\n");
  EventCursor events = input.tape.events();
  while (const Event* event = events.next()) {
    if (is_pool(event->kind)) continue;
    const auto tid = tids.find(event->thread);
    sink.print("{},{},{},{},{},0x{:x},{},", event->number, event->time_us, event->thread.value,
               tid != tids.end() ? tid->second : 0, kind_name(event->kind), event->address, event->size);
    if (event->old_address != 0) sink.print("0x{:x}", event->old_address);
    sink.print(",{}\r\n", event->stack.value);
    if (sink.failed()) return;
  }
}

} // namespace heaptape
