#include "collector/rings/shared_memory.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace heaptape {

namespace {

Error system_error(const char* what) {
  return Error{ErrorCode::Exhausted, std::string(what) + ": " + std::strerror(errno)};
}

// NORESERVE: the mapping is most of a GB of address space of which little is ever touched.
std::byte* map_start(int fd, std::uint64_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

std::uint64_t random_key() {
  std::uint64_t key = 0;
  if (::getrandom(&key, sizeof key, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof key)) {
    key = (static_cast<std::uint64_t>(::getpid()) << 32) ^ reinterpret_cast<std::uintptr_t>(&key);
  }
  return key != 0 ? key : 1;
}

bool same_layout(const wire::Config& a, const wire::Config& b) {
  return a.slot_count == b.slot_count && a.ring_records == b.ring_records && a.table_count == b.table_count &&
         a.node_capacity == b.node_capacity && a.claims == b.claims && a.slots == b.slots && a.modules == b.modules &&
         a.answer == b.answer && a.children == b.children && a.nodes == b.nodes && a.rings == b.rings &&
         a.scratch == b.scratch && a.total_bytes == b.total_bytes;
}

std::uint64_t limit_of(decltype(RLIMIT_AS) what) {
  rlimit limit{};
  return ::getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? ~std::uint64_t{0} : limit.rlim_cur;
}

// The program runs under the same limits as we do: on the size of files, of which this is one, and on the address
// space, most of which it needs for itself. What is smallest may still be too large.
wire::Config fitting_config(const CollectorOptions& options) {
  const std::uint64_t most_mapped = limit_of(RLIMIT_AS) / 8, most_bytes = limit_of(RLIMIT_FSIZE);
  const auto fits = [&](const wire::Config& config) {
    const std::uint64_t first = std::min(config.slot_count, wire::kFirstSlots);
    const std::uint64_t mapped = config.scratch + first * wire::kScratchBytes + wire::table_offset(config.table_count);
    return mapped <= most_mapped && config.total_bytes <= most_bytes;
  };
  constexpr std::uint32_t kFewTables = 7, kFewestTables = 4;
  constexpr std::uint32_t kFewSlots = 8, kFewestSlots = 2;
  constexpr std::uint32_t kFewRecords = 1024;
  std::uint32_t slots = options.slot_count;
  wire::Config config = wire::make_config(slots, options.ring_records);
  while (!fits(config) && slots > kFewSlots) config = wire::make_config(slots /= 2, options.ring_records, kFewTables);
  const std::uint32_t records = std::min(options.ring_records, kFewRecords);
  while (!fits(config) && slots > kFewestSlots) config = wire::make_config(slots /= 2, records, kFewestTables);
  return config;
}

bool sane_counts(std::uint32_t slot_count, std::uint32_t ring_records) {
  return slot_count >= 1 && slot_count <= wire::kMostSlots && ring_records >= 8 && ring_records <= 1U << 24 &&
         std::has_single_bit(ring_records);
}

} // namespace

SharedMemory::SharedMemory(UniqueFd fd, std::byte* base, const wire::Config& config, std::uint64_t key)
    : fd_(std::move(fd)), base_(base), config_(config), key_(key) {}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), base_(std::exchange(other.base_, nullptr)), config_(other.config_), key_(other.key_) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  fd_ = std::move(other.fd_);
  base_ = std::exchange(other.base_, nullptr);
  config_ = other.config_;
  key_ = other.key_;
  return *this;
}

SharedMemory::~SharedMemory() { unmap(); }

void SharedMemory::unmap() {
  if (base_ != nullptr) ::munmap(base_, config_.scratch);
  base_ = nullptr;
}

void SharedMemory::empty() {
  if (base_ != nullptr) ::madvise(base_ + wire::kPage, config_.scratch - wire::kPage, MADV_REMOVE);
}

Result<SharedMemory> SharedMemory::create(const CollectorOptions& options) {
  HT_CHECK(sane_counts(options.slot_count, options.ring_records));
  wire::Config config = fitting_config(options);
  config.max_depth = options.max_depth;
  config.free_stacks = options.free_stacks ? 1 : 0;
  config.on_full = options.on_full;
  config.cpu_hz = options.cpu_hz;
  config.no_heap = options.heap ? 0 : 1;
  using wire::ContentsReason;
  config.contents_reasons = (options.snapshots.exit ? wire::reason_bit(ContentsReason::Exit) : 0) |
                            (options.snapshots.crash ? wire::reason_bit(ContentsReason::Crash) : 0);
  config.contents_signals = options.snapshots.signals;
  config.no_crash_handler = options.crashes ? 0 : 1;

  // Else the kernel would send SIGXFSZ.
  if (config.total_bytes > limit_of(RLIMIT_FSIZE)) {
    return Error{ErrorCode::Exhausted,
                 "the limit on the size of files (ulimit -f) leaves no room for the memory shared "
                 "with the program, at least " +
                     std::to_string(config.total_bytes / 1'000'000 + 1) + " MB"};
  }
  UniqueFd fd(::memfd_create("heaptape", MFD_CLOEXEC));
  if (!fd) return system_error("cannot create the memory shared with the program");
  if (::ftruncate(fd.get(), static_cast<off_t>(config.total_bytes)) != 0) {
    return system_error("cannot size the memory shared with the program");
  }
  std::byte* base = map_start(fd.get(), config.scratch);
  if (base == nullptr) return system_error("cannot map the memory shared with the program");

  auto* header = new (base) wire::Header;
  header->version = wire::kVersion;
  header->header_bytes = sizeof(wire::Header);
  header->key = random_key();
  header->config = config;
  header->collector_state.store(wire::kCollectorAlive, std::memory_order_relaxed);
  header->magic = wire::kMagic;
  return SharedMemory(std::move(fd), base, config, header->key);
}

Result<SharedMemory> SharedMemory::map_existing(UniqueFd fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error("cannot read the memory shared with the program");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes < wire::kPage) return Error{ErrorCode::Malformed, "the shared memory is too small"};
  std::byte* base = map_start(fd.get(), wire::kPage);
  if (base == nullptr) return system_error("cannot map the memory shared with the program");

  const auto* header = reinterpret_cast<const wire::Header*>(base);
  const wire::Config config = header->config;
  const std::uint64_t key = header->key;
  const bool fits = header->magic == wire::kMagic && header->version == wire::kVersion &&
                    header->header_bytes == sizeof(wire::Header) && config.total_bytes == bytes &&
                    sane_counts(config.slot_count, config.ring_records) && config.table_count >= 1 &&
                    config.table_count <= wire::kTableCount &&
                    same_layout(config, wire::make_config(config.slot_count, config.ring_records, config.table_count));
  ::munmap(base, wire::kPage);
  if (!fits) {
    return Error{ErrorCode::Malformed, "the shared memory was made by another version of heaptape"};
  }
  base = map_start(fd.get(), config.scratch);
  if (base == nullptr) return system_error("cannot map the memory shared with the program");
  return SharedMemory(std::move(fd), base, config, key);
}

bool SharedMemory::is_written_over() const {
  const wire::Header& header = this->header();
  static_assert(std::has_unique_object_representations_v<wire::Config>);
  if (header.magic != wire::kMagic || header.version != wire::kVersion || header.header_bytes != sizeof(wire::Header) ||
      header.key != key_ || std::memcmp(&header.config, &config_, sizeof config_) != 0)
    return true;
  // Counters that do not exist yet.
  return std::any_of(std::begin(header.losses) + static_cast<std::size_t>(wire::Loss::Count), std::end(header.losses),
                     [](const auto& unused) { return unused.load(std::memory_order_relaxed) != 0; });
}

wire::ThreadSlot& SharedMemory::slot(std::uint32_t index) const {
  HT_CHECK(index < config_.slot_count);
  return reinterpret_cast<wire::ThreadSlot*>(base_ + config_.slots)[index];
}

wire::Record* SharedMemory::ring(std::uint32_t index) const {
  HT_CHECK(index < config_.slot_count);
  return reinterpret_cast<wire::Record*>(base_ + config_.rings + wire::ring_offset(index, config_.ring_records));
}

const wire::StackNode* SharedMemory::nodes() const {
  return reinterpret_cast<const wire::StackNode*>(base_ + config_.nodes);
}

} // namespace heaptape
