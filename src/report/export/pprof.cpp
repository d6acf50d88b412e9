#include "report/export/pprof.h"

#include <elf.h>

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "report/export/quantity.h"

namespace heaptape {
namespace {

using protozero::pbf_writer;

// Numbers of the fields of pprof's messages, from its profile.proto.
namespace profile {
enum : protozero::pbf_tag_type {
  SampleType = 1,
  Sample = 2,
  Mapping = 3,
  Location = 4,
  Function = 5,
  StringTable = 6,
  TimeNanos = 9,
  DurationNanos = 10,
  PeriodType = 11,
  Period = 12,
  Comment = 13,
  DefaultSampleType = 14
};
}
namespace value_type {
enum : protozero::pbf_tag_type { Type = 1, Unit = 2 };
}
namespace sample {
enum : protozero::pbf_tag_type { LocationId = 1, Value = 2, Label = 3 };
}
namespace label {
enum : protozero::pbf_tag_type { Key = 1, Text = 2, Number = 3 };
}
namespace mapping {
enum : protozero::pbf_tag_type {
  Id = 1,
  MemoryStart = 2,
  MemoryLimit = 3,
  FileOffset = 4,
  Filename = 5,
  BuildId = 6,
  HasFunctions = 7,
  HasFilenames = 8,
  HasLineNumbers = 9,
  HasInlineFrames = 10
};
}
namespace location {
enum : protozero::pbf_tag_type { Id = 1, MappingId = 2, Address = 3, Line = 4 };
}
namespace line {
enum : protozero::pbf_tag_type { FunctionId = 1, Line = 2, Column = 3 };
}
namespace function {
enum : protozero::pbf_tag_type { Id = 1, Name = 2, SystemName = 3, Filename = 4 };
}

struct SampleType {
  const char* name;
  const char* unit;
  Quantity quantity;
};
constexpr std::array kSampleTypes{
    SampleType{"alloc_objects", "count", Quantity::Allocated}, SampleType{"alloc_space", "bytes", Quantity::Allocated},
    SampleType{"inuse_objects", "count", Quantity::Live},      SampleType{"inuse_space", "bytes", Quantity::Live},
    SampleType{"peak_objects", "count", Quantity::Peak},       SampleType{"peak_space", "bytes", Quantity::Peak},
};
constexpr const char* kDefaultSampleType = "peak_space";
constexpr const char* kCpuType = "cpu";

// The module that is the program itself; null when the tape does not say which.
const Module* program_of(const TapeReader& tape) {
  const auto path = tape.meta().find("program");
  if (path == tape.meta().end()) return nullptr;
  const auto found = std::find_if(tape.modules().begin(), tape.modules().end(),
                                  [&](const Module& module) { return module.path == path->second; });
  return found != tape.modules().end() ? &*found : nullptr;
}

class ProfileBuilder {
public:
  explicit ProfileBuilder(const ExportInput& input) : input_(input), names_(input.names), out_(data_) {
    number_of_text("");
    for (const Thread& thread : input.tape.threads()) threads_[thread.id] = &thread;
    // pprof shows the file of the first mapping as the profile's.
    if (const Module* program = program_of(input.tape)) mappings_.emplace(program, std::pair(1, MappingFlags{}));
  }

  const std::string& build() {
    if (input_.cpu != nullptr) {
      add_value_type(profile::SampleType, "samples", "count");
      add_value_type(profile::SampleType, kCpuType, "nanoseconds");
      for (const StackTime& entry : *input_.cpu)
        add_sample(entry.stack, entry.thread, {entry.time.periods, entry.time.us * 1000});
    } else {
      for (const SampleType& type : kSampleTypes) add_value_type(profile::SampleType, type.name, type.unit);
      for (const OwnerFigures& figures : input_.findings().by_owner)
        add_sample(figures.owner.stack, figures.owner.thread, values_of(figures));
    }
    add_mappings();
    add_facts();
    // Everything that names a text was written: now the texts.
    for (const std::string* text : texts_) out_.add_string(profile::StringTable, *text);
    return data_;
  }

private:
  struct MappingFlags {
    bool functions = true, files = true, lines = true, inlined = false;
  };

  std::int64_t number_of_text(std::string_view text) {
    const auto [found, added] = text_numbers_.try_emplace(std::string(text), texts_.size());
    if (added) texts_.push_back(&found->first);
    return static_cast<std::int64_t>(found->second);
  }

  void add_value_type(protozero::pbf_tag_type field, std::string_view type, std::string_view unit) {
    pbf_writer message(out_, field);
    message.add_int64(value_type::Type, number_of_text(type));
    message.add_int64(value_type::Unit, number_of_text(unit));
  }

  static std::vector<std::uint64_t> values_of(const Figures& figures) {
    std::vector<std::uint64_t> values;
    for (const SampleType& type : kSampleTypes) {
      const Cost cost = cost_of(figures, type.quantity);
      values.push_back(type.unit == std::string_view("bytes") ? cost.bytes : cost.blocks);
    }
    return values;
  }

  void add_sample(StackId stack, ThreadId thread, const std::vector<std::uint64_t>& values) {
    std::vector<std::uint64_t> locations;
    // Frames of one place, the inlined ones first and last the function they are in, are one location.
    std::vector<FrameId> place;
    const StackEnd end = names_.each_frame(stack, [&](FrameId frame) {
      place.push_back(frame);
      if (names_[frame].inlined) return;
      places_.push_back(std::move(place));
      place.clear();
    });
    for (const std::vector<FrameId>& frames : places_) locations.push_back(number_of_location(frames));
    places_.clear();
    if (const auto text = stand_in(end, !locations.empty()); !text.empty())
      locations.push_back(number_of_stand_in(text));

    const std::vector<std::int64_t> signed_values(values.begin(), values.end());
    pbf_writer message(out_, profile::Sample);
    message.add_packed_uint64(sample::LocationId, locations.begin(), locations.end());
    message.add_packed_int64(sample::Value, signed_values.begin(), signed_values.end());
    add_thread(message, thread);
  }

  void add_thread(pbf_writer& message, ThreadId id) {
    const auto found = threads_.find(id);
    if (found == threads_.end()) return;
    const Thread& thread = *found->second;
    {
      pbf_writer text(message, sample::Label);
      text.add_int64(label::Key, number_of_text("thread"));
      text.add_int64(label::Text,
                     number_of_text(thread.name.empty() ? fmt::format("thread {}", thread.id.value) : thread.name));
    }
    pbf_writer number(message, sample::Label);
    number.add_int64(label::Key, number_of_text("thread_id"));
    number.add_int64(label::Number, thread.tid);
  }

  std::uint64_t number_of_location(const std::vector<FrameId>& frames) {
    const auto [found, added] = locations_.try_emplace(frames.front(), locations_.size() + stand_ins_.size() + 1);
    if (!added) return found->second;
    const NamedFrame& outer = names_[frames.back()];
    MappingFlags* flags = nullptr;
    std::vector<std::uint64_t> functions;
    for (const FrameId frame : frames) functions.push_back(number_of_function(frame));
    pbf_writer message(out_, profile::Location);
    message.add_uint64(location::Id, found->second);
    if (outer.module != nullptr) {
      const auto [number, _] = mappings_.try_emplace(outer.module, mappings_.size() + 1, MappingFlags{});
      message.add_uint64(location::MappingId, number->second.first);
      flags = &number->second.second;
      flags->inlined |= frames.size() > 1;
    }
    // The offset is a return address; pprof wants the call, which ends in front of it.
    const std::uint64_t bias = outer.module != nullptr ? outer.module->load_bias : 0;
    message.add_uint64(location::Address, inside_the_call(outer.offset + bias));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const NamedFrame& frame = names_[frames[i]];
      if (flags != nullptr) {
        flags->functions &= !frame.linkage_name.empty();
        flags->files &= frame.file != NameId();
        flags->lines &= frame.line != 0;
      }
      pbf_writer line_message(message, location::Line);
      line_message.add_uint64(line::FunctionId, functions[i]);
      if (frame.line != 0) line_message.add_int64(line::Line, frame.line);
      if (frame.column != 0) line_message.add_int64(line::Column, frame.column);
    }
    return found->second;
  }

  std::uint64_t number_of_stand_in(std::string_view text) {
    const auto [found, added] = stand_ins_.try_emplace(text, locations_.size() + stand_ins_.size() + 1);
    if (!added) return found->second;
    const std::uint64_t function_number = ++functions_made_;
    {
      pbf_writer message(out_, profile::Function);
      message.add_uint64(function::Id, function_number);
      message.add_int64(function::Name, number_of_text(text));
    }
    pbf_writer message(out_, profile::Location);
    message.add_uint64(location::Id, found->second);
    pbf_writer line_message(message, location::Line);
    line_message.add_uint64(line::FunctionId, function_number);
    return found->second;
  }

  std::uint64_t number_of_function(FrameId id) {
    const NamedFrame& frame = names_[id];
    const auto [found, added] =
        functions_.try_emplace({frame.function, frame.file, frame.linkage_name}, functions_made_ + 1);
    if (!added) return found->second;
    ++functions_made_;
    pbf_writer message(out_, profile::Function);
    message.add_uint64(function::Id, found->second);
    message.add_int64(function::Name, number_of_text(names_.text(frame.function)));
    const std::string_view system = frame.linkage_name;
    message.add_int64(function::SystemName, number_of_text(system.empty() ? names_.text(frame.function) : system));
    message.add_int64(function::Filename, number_of_text(names_.text(frame.file)));
    return found->second;
  }

  void add_mappings() {
    std::vector<std::pair<const Module*, MappingFlags>> in_order(mappings_.size());
    for (const auto& [module, entry] : mappings_) in_order[entry.first - 1] = {module, entry.second};
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      const auto& [module, flags] = in_order[i];
      pbf_writer message(out_, profile::Mapping);
      message.add_uint64(mapping::Id, i + 1);
      Segment code{module->start, module->end - module->start};
      for (const Segment& segment : module->segments) {
        if ((segment.flags & PF_X) != 0) {
          code = segment;
          break;
        }
      }
      message.add_uint64(mapping::MemoryStart, code.address);
      message.add_uint64(mapping::MemoryLimit, code.address + code.size);
      message.add_uint64(mapping::FileOffset, code.file_offset);
      message.add_int64(mapping::Filename, number_of_text(module->path));
      std::string build_id;
      for (const std::uint8_t byte : module->build_id) build_id += fmt::format("{:02x}", byte);
      message.add_int64(mapping::BuildId, number_of_text(build_id));
      message.add_bool(mapping::HasFunctions, flags.functions);
      message.add_bool(mapping::HasFilenames, flags.files);
      message.add_bool(mapping::HasLineNumbers, flags.lines);
      message.add_bool(mapping::HasInlineFrames, flags.inlined);
    }
  }

  void add_facts() {
    out_.add_int64(profile::TimeNanos, static_cast<std::int64_t>(input_.tape.header().start_realtime_ns));
    out_.add_int64(profile::DurationNanos, static_cast<std::int64_t>(duration_us(input_) * 1000));
    const auto comment = [&](const std::string& text) { out_.add_int64(profile::Comment, number_of_text(text)); };
    if (input_.cpu != nullptr) {
      const std::vector<CpuSegment>& segments = input_.tape.cpu().segments;
      const std::uint32_t hz = segments.empty() ? 0 : segments.front().hz;
      add_value_type(profile::PeriodType, kCpuType, "nanoseconds");
      if (hz != 0) out_.add_int64(profile::Period, 1'000'000'000 / hz);
      comment("recorded by heaptape, samples of CPU time");
      comment("command: " + command_of(input_.tape));
      out_.add_int64(profile::DefaultSampleType, number_of_text(kCpuType));
      return;
    }
    add_value_type(profile::PeriodType, "space", "bytes");
    out_.add_int64(profile::Period, 1); // every event, not a sample of them
    comment("recorded by heaptape, every allocation counted");
    comment("command: " + command_of(input_.tape));
    comment(fmt::format("peak at {} us", input_.findings().totals.peak_us));
    out_.add_int64(profile::DefaultSampleType, number_of_text(kDefaultSampleType));
  }

  const ExportInput& input_;
  StackNames& names_;
  std::string data_;
  pbf_writer out_;
  std::vector<const std::string*> texts_;
  std::unordered_map<std::string, std::size_t> text_numbers_;
  std::unordered_map<ThreadId, const Thread*> threads_;
  std::map<const Module*, std::pair<std::uint64_t, MappingFlags>> mappings_;
  std::unordered_map<FrameId, std::uint64_t> locations_; // by first frame
  std::map<std::string_view, std::uint64_t> stand_ins_;
  std::map<std::tuple<NameId, NameId, std::string_view>, std::uint64_t> functions_;
  std::uint64_t functions_made_ = 0;
  std::vector<std::vector<FrameId>> places_; // of the stack at hand
};

} // namespace

void export_pprof(const ExportInput& input, Sink& sink) {
  ProfileBuilder builder(input);
  sink.add(builder.build());
}

} // namespace heaptape
