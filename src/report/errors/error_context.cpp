#include "report/errors/error_context.h"

#include "report/pages/odd_calls.h"

namespace heaptape {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::WriteBehind: return "write-behind";
  case ErrorKind::WriteBefore: return "write-before";
  case ErrorKind::WriteFreed: return "write-freed";
  case ErrorKind::ReadOutside: return "read-outside";
  case ErrorKind::WriteOutside: return "write-outside";
  case ErrorKind::ReadFreed: return "read-freed";
  case ErrorKind::WriteIntoFreed: return "write-into-freed";
  case ErrorKind::WrongAlignment: return "wrong-alignment";
  case ErrorKind::DoubleFree: return odd_sort_name(OddSort::ReleasedTwice);
  case ErrorKind::FreeInside: return odd_sort_name(OddSort::InsideBlock);
  case ErrorKind::FreeOfStack: return odd_sort_name(OddSort::OnStack);
  case ErrorKind::FreeOfStatic: return odd_sort_name(OddSort::InModule);
  case ErrorKind::FreeOfForeign: return odd_sort_name(OddSort::NotKnown);
  case ErrorKind::Mismatch: return odd_sort_name(OddSort::Mismatch);
  case ErrorKind::WrongSize: return odd_sort_name(OddSort::WrongSize);
  case ErrorKind::Other: break;
  }
  return "other";
}

SuppressionOf suppression_of(ErrorKind kind) {
  if (is_access(kind)) return SuppressionOf::Accesses;
  if (kind == ErrorKind::Mismatch) return SuppressionOf::Mismatches;
  return kind == ErrorKind::Other ? SuppressionOf::Nothing : SuppressionOf::Releases;
}

} // namespace heaptape
