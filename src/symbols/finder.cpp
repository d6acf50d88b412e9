#include "symbols/finder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/path_text.h"
#include "base/system_error.h"
#include "base/unique_fd.h"
#include "symbols/debuginfod.h"

namespace heaptape {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<std::uint8_t> build_id_of(const MappedFile& file) {
  const auto image = ElfImage::parse(file.bytes());
  return image ? image.value().build_id() : std::vector<std::uint8_t>{};
}

// Whether a file belongs to a build-id, as far as both sides have one.
bool has_build_id(const MappedFile& file, std::span<const std::uint8_t> wanted, std::vector<std::string>& problems) {
  const std::vector<std::uint8_t> found = build_id_of(file);
  if (found.empty() || wanted.empty() || std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()))
    return true;
  problems.push_back("'" + file.path() + "' is not used: its build-id is " + hexadecimal(found) + ", not " +
                     hexadecimal(wanted));
  return false;
}

std::string build_id_name(std::span<const std::uint8_t> build_id) {
  return "/.build-id/" + hexadecimal(build_id.first(1)) + "/" + hexadecimal(build_id.subspan(1)) + ".debug";
}

bool is_vdso(const std::string& path) {
  return path == "[vdso]" || path == "linux-vdso.so.1" || path == "linux-gate.so.1";
}

// The kernel's own shared object, as mapped into this process; the same one in every process until the next boot.
std::optional<MappedFile> vdso() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("[vdso]")) continue;
    char* end = nullptr;
    const auto start_address = std::strtoull(line.c_str(), &end, 16);
    if (*end != '-') break;
    const auto end_address = std::strtoull(end + 1, nullptr, 16);
    if (end_address <= start_address) break;
    return MappedFile::in_place(
        ByteSpan(reinterpret_cast<const std::byte*>(start_address), end_address - start_address), "[vdso]");
  }
  return std::nullopt;
}

Error open_error(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return {ErrorCode::NotFound, "'" + path + "' does not exist"};
  return {error == EACCES ? ErrorCode::Denied : ErrorCode::Io,
          "'" + path + "' cannot be read: " + system_message(error)};
}

} // namespace

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), mapped_(std::exchange(other.mapped_, false)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  // A module's name may be that of a pipe or a device by now; opening must not wait for anybody.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return open_error(path, errno);
  return from_fd(fd.get(), path);
}

Result<MappedFile> MappedFile::from_fd(int fd, std::string name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return open_error(name, errno);
  if (!S_ISREG(status.st_mode) || status.st_size <= 0)
    return Error{ErrorCode::NotFound, "'" + name + "' is not a regular file, or it is empty"};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) return open_error(name, errno);
  MappedFile file;
  file.bytes_ = ByteSpan(static_cast<const std::byte*>(map), size);
  file.mapped_ = true;
  file.path_ = std::move(name);
  return file;
}

MappedFile MappedFile::in_place(ByteSpan bytes, std::string name) {
  MappedFile file;
  file.bytes_ = bytes;
  file.path_ = std::move(name);
  return file;
}

std::string Finder::under_sysroot(const std::string& path) const {
  if (options_.sysroot.empty() || !path.starts_with('/')) return path;
  return options_.sysroot + path;
}

Result<MappedFile> Finder::module(const ModuleFile& wanted) const {
  Result<MappedFile> file = Error{ErrorCode::NotFound, "this machine has no vdso"};
  if (wanted.fd >= 0) {
    file = MappedFile::from_fd(wanted.fd, wanted.path);
  } else if (is_vdso(wanted.path)) {
    if (auto kernels = vdso()) file = std::move(*kernels);
  } else {
    file = MappedFile::open(under_sysroot(wanted.path));
  }
  if (!file || wanted.build_id.empty()) return file;
  const std::vector<std::uint8_t> found = build_id_of(file.value());
  if (!found.empty() && found != wanted.build_id)
    return Error{ErrorCode::NotFound, "'" + file.value().path() +
                                          "' is not the file that was recorded: its build-id is " + hexadecimal(found) +
                                          ", not " + hexadecimal(wanted.build_id)};
  return file;
}

std::optional<MappedFile> Finder::debug_file(const std::string& module_path, std::span<const std::uint8_t> build_id,
                                             const std::optional<DebugLink>& link,
                                             std::vector<std::string>& problems) const {
  if (build_id.size() >= 2) {
    const std::string name = build_id_name(build_id);
    for (const std::string& folder : options_.debug_dirs) {
      auto file = MappedFile::open(under_sysroot(folder) + name);
      if (file && has_build_id(file.value(), build_id, problems)) return std::move(file).value();
    }
  }
  if (link) {
    if (auto file = linked_file(module_path, build_id, *link, problems)) return file;
  }
  if (options_.debuginfod) {
    if (const auto path = debuginfod_debug_file(build_id)) {
      auto file = MappedFile::open(*path);
      if (file && has_build_id(file.value(), build_id, problems)) return std::move(file).value();
    }
  }
  return std::nullopt;
}

std::optional<MappedFile> Finder::linked_file(const std::string& module_path, std::span<const std::uint8_t> build_id,
                                              const DebugLink& link, std::vector<std::string>& problems) const {
  // The name is one in a folder; with a slash in it, it could lead anywhere.
  if (link.name.find('/') != std::string::npos) return std::nullopt;
  const std::string folder = folder_of(module_path);
  std::vector<std::string> paths{under_sysroot(folder) + "/" + link.name,
                                 under_sysroot(folder) + "/.debug/" + link.name};
  for (const std::string& debug_dir : options_.debug_dirs) {
    if (folder.starts_with('/')) paths.push_back(under_sysroot(debug_dir) + folder + "/" + link.name);
    paths.push_back(under_sysroot(debug_dir) + "/" + link.name);
  }
  for (const std::string& path : paths) {
    auto file = MappedFile::open(path);
    if (!file || !has_build_id(file.value(), build_id, problems)) continue;
    // A stripped file may name itself, when it was installed over the name of its own debug file.
    if (debug_link_crc(file.value().bytes()) == link.crc) return std::move(file).value();
    if (path != under_sysroot(module_path))
      problems.push_back("'" + path + "' is not the debug file of '" + module_path + "': its checksum differs");
  }
  return std::nullopt;
}

std::optional<MappedFile> Finder::alt_file(const std::string& from, const AltLink& link) const {
  std::vector<std::string> paths;
  if (link.name.starts_with('/')) {
    paths.push_back(under_sysroot(link.name));
  } else {
    // Relative to the file that names it; that one may have been reached through a link.
    paths.push_back(folder_of(from) + "/" + link.name);
    std::error_code error;
    const auto real = std::filesystem::canonical(from, error);
    if (!error) paths.push_back(real.parent_path().string() + "/" + link.name);
  }
  if (link.build_id.size() >= 2) {
    for (const std::string& folder : options_.debug_dirs)
      paths.push_back(under_sysroot(folder) + build_id_name(link.build_id));
  }
  std::vector<std::string> problems;
  for (const std::string& path : paths) {
    auto file = MappedFile::open(path);
    if (file && has_build_id(file.value(), link.build_id, problems)) return std::move(file).value();
  }
  return std::nullopt;
}

std::optional<MappedFile> Finder::split_file(const std::string& module_path, const std::string& directory,
                                             const std::string& name) const {
  std::vector<std::string> paths;
  if (name.starts_with('/'))
    paths.push_back(under_sysroot(name));
  else
    paths.push_back(under_sysroot(directory.empty() ? name : directory + "/" + name));
  // Moved together with the program.
  paths.push_back(folder_of(under_sysroot(module_path)) + "/" + std::string(base_name(name)));
  for (const std::string& folder : options_.debug_dirs)
    paths.push_back(under_sysroot(folder) + "/" + std::string(base_name(name)));
  for (const std::string& path : paths) {
    if (auto file = MappedFile::open(path)) return std::move(file).value();
  }
  return std::nullopt;
}

std::optional<MappedFile> Finder::split_package(const std::string& module_path) const {
  std::vector<std::string> paths{under_sysroot(module_path) + ".dwp"};
  for (const std::string& folder : options_.debug_dirs)
    paths.push_back(under_sysroot(folder) + "/" + std::string(base_name(module_path)) + ".dwp");
  for (const std::string& path : paths) {
    if (auto file = MappedFile::open(path)) return std::move(file).value();
  }
  return std::nullopt;
}

} // namespace heaptape
