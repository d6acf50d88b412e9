#include "tape/event.h"

namespace heaptape {

const char* kind_name(EventKind kind) {
  switch (kind) {
  case EventKind::Malloc: return "malloc";
  case EventKind::Calloc: return "calloc";
  case EventKind::Realloc: return "realloc";
  case EventKind::Free: return "free";
  case EventKind::Memalign: return "memalign";
  case EventKind::PosixMemalign: return "posix_memalign";
  case EventKind::AlignedAlloc: return "aligned_alloc";
  case EventKind::Valloc: return "valloc";
  case EventKind::Pvalloc: return "pvalloc";
  case EventKind::ReallocArray: return "reallocarray";
  case EventKind::FreeSized: return "free_sized";
  case EventKind::FreeAlignedSized: return "free_aligned_sized";
  case EventKind::Cfree: return "cfree";
  case EventKind::New: return "operator new";
  case EventKind::NewArray: return "operator new[]";
  case EventKind::Delete: return "operator delete";
  case EventKind::DeleteArray: return "operator delete[]";
  case EventKind::MmapAnonymous: return "mmap anonymous";
  case EventKind::MmapFile: return "mmap file";
  case EventKind::Munmap: return "munmap";
  case EventKind::Mremap: return "mremap";
  case EventKind::ReallocRelease: return "realloc release";
  case EventKind::PoolAlloc: return "pool alloc";
  case EventKind::PoolFree: return "pool free";
  default: return "?";
  }
}

} // namespace heaptape
