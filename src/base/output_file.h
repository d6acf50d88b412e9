// A file that a command makes, or standard output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace heaptape {

struct MakeFile {
  std::string path; // empty or "-": standard output; a device or pipe is written to as it is
  bool overwrite = false;
  bool owner_only = false; // nobody else may read it, whatever the umask says
};

// Whether both names mean one file that exists.
bool same_file(const std::string& one, const std::string& other);

// A file is whole or not there: it is written under another name and gets its own at keep(). Without keep() nothing is
// left. One that exists is not touched unless overwriting was asked for, and then only at keep(). One thread at a time.
class OutputFile {
public:
  static Result<OutputFile> create(const MakeFile& options);
  // One that has no name: it is gone when the last process that has it open ends. In $TMPDIR, or where large files may lie.
  static Result<OutputFile> create_unnamed();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  bool is_terminal() const;
  // The last write failed because the reader is gone, which is not worth a message.
  bool reader_gone() const { return reader_gone_; }
  Result<> write(std::string_view bytes);
  // Whether zeros take no room: in a file, that is, and not behind what others append.
  bool takes_holes() const;
  // So many bytes of zeros; in a file they are a hole, which takes no room on the disk.
  Result<> write_zeros(std::uint64_t count);
  Result<> keep();
  // Of an unnamed one, after keep(): a descriptor that programs which are started inherit. The caller's from now on.
  UniqueFd take_to_hand_on();

private:
  Result<> fill_hole();
  OutputFile(MakeFile options, std::string temporary, UniqueFd fd);

  MakeFile options_;
  std::string temporary_; // empty: none, or kept
  UniqueFd fd_;           // none: standard output
  bool reader_gone_ = false;
  bool ends_in_hole_ = false;
};

} // namespace heaptape
