// Which pages a running program has changed since the last look. The kernel write-protects them for us through a userfaultfd; the first write to
// such a page costs the program about one page fault more, and it notices nothing else. Needs Linux 6.7. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "collector/contents/program_memory.h"
#include "collector/contents/stopped_process.h"

namespace heaptape {

class PageTracker {
public:
  // Makes the program open a userfaultfd, takes that over, and closes it there. Nothing: it cannot be had, or the kernel is too old.
  static std::optional<PageTracker> make(pid_t pid, StoppedProcess& stopped);

  // From now on changes in this mapping are seen. False: the kernel refuses, and they are not.
  bool watch(PageRange mapping);

  // Adds the pages of a mapping that were changed since the last look, or since watch(), and pages near them that were never touched. Looks from
  // then on for new changes. False: it is not watched, or not all of it.
  bool take_changed(PageRange mapping, std::vector<PageRange>& pages);

private:
  PageTracker(UniqueFd userfault, UniqueFd pagemap) : userfault_(std::move(userfault)), pagemap_(std::move(pagemap)) {}

  UniqueFd userfault_;
  UniqueFd pagemap_;
};

// Adds the pages of a mapping that hold something of the program's own: present or swapped out, not the kernel's page of zeros, and in a mapped
// file only those that the program has changed. With `of_file` also those that are the file's, or shared. False: the kernel does not say.
bool touched_pages(int pagemap_fd, PageRange mapping, bool of_file, std::vector<PageRange>& pages);

} // namespace heaptape
