// What call stacks say about the blocks that they allocated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/contents/allocated_type.h"
#include "report/names/charged_function.h"
#include "report/names/stack_names.h"

namespace heaptape {

// Remembers each frame that it was asked about. One thread at a time; the names must outlive it.
class StackTypes {
public:
  explicit StackTypes(StackNames& names) : names_(names), plumbing_(names) {}

  struct OfStack {
    std::string type{};               // by the functions that allocate on behalf of others; empty: they do not say
    std::optional<FrameId> charged{}; // nullopt: there are no frames
  };
  OfStack of(StackId stack);

private:
  const AllocatedType& made_by(FrameId frame);

  StackNames& names_;
  Plumbing plumbing_;
  std::vector<std::optional<AllocatedType>> made_; // by frame
};

} // namespace heaptape
