#include "report/errors/error_context.h"

#include "report/pages/memory_errors.h"
#include "report/pages/odd_calls.h"

namespace heaptape {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::WriteBehind: return error_sort_name(ErrorSort::WriteBehind);
  case ErrorKind::WriteBefore: return error_sort_name(ErrorSort::WriteBefore);
  case ErrorKind::WriteFreed: return error_sort_name(ErrorSort::WriteFreed);
  case ErrorKind::ReadOutside: return error_sort_name(ErrorSort::ReadOutside);
  case ErrorKind::WriteOutside: return error_sort_name(ErrorSort::WriteOutside);
  case ErrorKind::ReadFreed: return error_sort_name(ErrorSort::ReadFreed);
  case ErrorKind::WriteIntoFreed: return error_sort_name(ErrorSort::WriteIntoFreed);
  case ErrorKind::WrongAlignment: return error_sort_name(ErrorSort::WrongAlignment);
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
