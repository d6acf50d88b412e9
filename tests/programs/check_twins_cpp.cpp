// Good and bad twins in C++: see check_twins.h. Families of new and delete here, objects in check_objects.cpp.
#include <cstdlib>
#include <cstring>
#include <new>

#include "check_objects.h"
#include "check_twins.h"

#define NOINLINE [[gnu::noinline]]

namespace {

constexpr auto kAlign = std::align_val_t(64);
constexpr auto kOtherAlign = std::align_val_t(256);

NOINLINE void* make_malloc(std::size_t bytes) { return std::malloc(bytes); }
NOINLINE void* make_calloc(std::size_t bytes) { return std::calloc(1, bytes); }
NOINLINE void* make_strdup(std::size_t) { return ::strdup("a text"); }
NOINLINE void* make_memalign(std::size_t bytes) { return std::aligned_alloc(64, bytes); }
NOINLINE void* make_new(std::size_t bytes) { return ::operator new(bytes); }
NOINLINE void* make_new_array(std::size_t bytes) { return ::operator new[](bytes); }
NOINLINE void* make_new_nothrow(std::size_t bytes) { return ::operator new(bytes, std::nothrow); }
NOINLINE void* make_new_array_nothrow(std::size_t bytes) { return ::operator new[](bytes, std::nothrow); }
NOINLINE void* make_new_aligned(std::size_t bytes) { return ::operator new(bytes, kAlign); }
NOINLINE void* make_new_array_aligned(std::size_t bytes) { return ::operator new[](bytes, kAlign); }

// What sized deletes are told, where it is right.
std::size_t g_bytes;
template <void* (*Make)(std::size_t)>
void* sized(std::size_t bytes) {
  g_bytes = bytes;
  return Make(bytes);
}

NOINLINE void release_free(void* block) { std::free(block); }
NOINLINE void release_realloc(void* block) { std::free(std::realloc(block, 77)); }
NOINLINE void release_delete(void* block) { ::operator delete(block); }
NOINLINE void release_delete_array(void* block) { ::operator delete[](block); }
NOINLINE void release_delete_nothrow(void* block) { ::operator delete(block, std::nothrow); }
NOINLINE void release_delete_array_nothrow(void* block) { ::operator delete[](block, std::nothrow); }
NOINLINE void release_delete_sized(void* block) { ::operator delete(block, g_bytes); }
NOINLINE void release_delete_array_sized(void* block) { ::operator delete[](block, g_bytes); }
NOINLINE void release_delete_aligned(void* block) { ::operator delete(block, kAlign); }
NOINLINE void release_delete_array_aligned(void* block) { ::operator delete[](block, kAlign); }
NOINLINE void release_delete_aligned_sized(void* block) { ::operator delete(block, g_bytes, kAlign); }
NOINLINE void release_delete_other_size(void* block) { ::operator delete(block, g_bytes / 2 + 1); }
NOINLINE void release_delete_array_other_size(void* block) { ::operator delete[](block, g_bytes + 8); }
NOINLINE void release_delete_other_align(void* block) { ::operator delete(block, kOtherAlign); }
NOINLINE void release_delete_array_other_align(void* block) { ::operator delete[](block, kOtherAlign); }

// pair:MAKER:RELEASER:SIZE  They belong to different families, or the size or alignment is wrong. The good twin takes the maker's own.
void pair(const twin& twin) {
  const maker* const maker = find_maker(twin.words[1]);
  const releaser* const releaser = find_releaser(twin.words[2]);
  const std::size_t size = number_of(twin.words[3]);
  void* const block = hidden(maker->make(size));
  std::memset(block, 'A', std::strcmp(maker->name, "strdup") == 0 ? 7 : size);
  say(&twin, block, size);
  twin.bad ? releaser->release(block) : maker->release(block);
}

} // namespace

const maker kMakers[] = {{"malloc", make_malloc, release_free},
                         {"calloc", make_calloc, release_free},
                         {"strdup", make_strdup, release_free},
                         {"memalign", make_memalign, release_free},
                         {"new", sized<make_new>, release_delete},
                         {"new_array", sized<make_new_array>, release_delete_array},
                         {"new_nothrow", sized<make_new_nothrow>, release_delete_nothrow},
                         {"new_array_nothrow", sized<make_new_array_nothrow>, release_delete_array_nothrow},
                         {"new_sized", sized<make_new>, release_delete_sized},
                         {"new_array_sized", sized<make_new_array>, release_delete_array_sized},
                         {"new_aligned", sized<make_new_aligned>, release_delete_aligned},
                         {"new_aligned_sized", sized<make_new_aligned>, release_delete_aligned_sized},
                         {"new_array_aligned", sized<make_new_array_aligned>, release_delete_array_aligned},
                         {nullptr, nullptr, nullptr}};
const releaser kReleasers[] = {{"free", release_free},
                               {"realloc", release_realloc},
                               {"delete", release_delete},
                               {"delete_array", release_delete_array},
                               {"delete_nothrow", release_delete_nothrow},
                               {"delete_array_nothrow", release_delete_array_nothrow},
                               {"delete_sized", release_delete_sized},
                               {"delete_array_sized", release_delete_array_sized},
                               {"delete_aligned", release_delete_aligned},
                               {"delete_array_aligned", release_delete_array_aligned},
                               {"delete_aligned_sized", release_delete_aligned_sized},
                               {"delete_other_size", release_delete_other_size},
                               {"delete_array_other_size", release_delete_array_other_size},
                               {"delete_other_align", release_delete_other_align},
                               {"delete_array_other_align", release_delete_array_other_align},
                               {nullptr, nullptr}};

bool run_of_program(const twin* twin) {
  if (std::strcmp(twin->words[0], "pair") == 0) return pair(*twin), true;
  return run_object(*twin);
}

int main(int argc, char** argv) { return run_all(argc, argv); }
