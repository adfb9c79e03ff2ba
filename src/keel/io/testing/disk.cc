#include "keel/io/testing/disk.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/io/testing/internal/seeded.h"

namespace keel::sim {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t sector_bytes = 512;

struct Node {
  std::uint64_t id = 0;
  std::string cached;   // The content that a read returns.
  std::string durable;  // The content on the disk, as large as the file on the disk.
  // The numbers of the pages of `cached` that the next sync writes. After a failed sync, other pages may also differ
  // from the disk.
  std::set<std::uint64_t> dirty;
};
using NodePtr = std::shared_ptr<Node>;
using Names = std::map<std::string, NodePtr, std::less<>>;

std::string_view folder_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

// Copies bytes [at, at + size) of `from` over those of `to`; where `from` has ended, the bytes of `to` become zeros.
void copy_range(std::string& to, const std::string& from, std::uint64_t at, std::uint64_t size) {
  if (at >= to.size()) return;
  size = std::min(size, to.size() - at);
  const std::uint64_t there = at < from.size() ? std::min(size, from.size() - at) : 0;
  if (there != 0) to.replace(at, there, from, at, there);
  if (there < size) std::fill_n(to.begin() + static_cast<std::ptrdiff_t>(at + there), size - there, '\0');
}

enum class What : std::uint8_t {
  Open,
  Close,
  Read,
  Write,
  Truncate,
  Size,
  Sync,
  Find,
  Remove,
  Rename,
  Folder,
  Off,
  On
};

}  // namespace

DiskFaults DiskFaults::faulty(std::uint64_t seed) {
  Random random{mix(seed ^ 0x6469736b)};
  const auto some = [&](double most) {
    return random.chance(0.33) ? 0.0 : most * static_cast<double>(random.below(1000) + 1) / 1000;
  };
  DiskFaults faults;
  faults.read_error = some(0.002);
  faults.write_error = some(0.01);
  faults.sync_error = some(0.03);
  faults.short_write = some(0.05);
  faults.write_back = some(0.3);
  faults.short_read = some(0.05);
  return faults;
}

struct Disk::State {
  struct Handle {
    NodePtr node;
    std::uint64_t life = 0;
  };

  State(std::uint64_t seed, const DiskFaults& f) : random{mix(seed ^ 0x64697363)}, faults(f) {}

  Random random;
  DiskFaults faults;
  DiskCounts counts;
  std::uint64_t hash = 0;
  std::uint64_t nodes_made = 0;
  std::uint64_t changes = 0;
  std::uint64_t changes_left = 0;  // The number of changes until the power fails; 0: the power does not fail.
  std::uint64_t life = 1;
  bool on = true;
  Names names;          // The names that a program sees.
  Names durable_names;  // The names on the disk.
  std::vector<Handle> handles;

  std::int64_t trace(What what, std::uint64_t of, std::uint64_t at, std::int64_t result, std::string_view bytes = {}) {
    hash = mix(hash ^ static_cast<std::uint64_t>(what)) ^ of;
    hash = mix(hash ^ at) ^ static_cast<std::uint64_t>(result);
    hash = hash_bytes(hash, bytes);
    return result;
  }

  // Null if the descriptor is from before the last power loss, or the power is off.
  Node* node_of(int fd) {
    KEEL_CHECK(fd >= 0 && static_cast<std::size_t>(fd) < handles.size() &&
                   handles[static_cast<std::size_t>(fd)].node != nullptr,
               "a descriptor of the disk can be used only while it is open");
    const Handle& handle = handles[static_cast<std::size_t>(fd)];
    return on && handle.life == life ? handle.node.get() : nullptr;
  }

  // Counts a change. True: the power fails during this change.
  bool loses_power() noexcept {
    ++changes;
    return changes_left != 0 && --changes_left == 0;
  }
  bool fails(double probability, std::uint64_t& count) noexcept {
    if (!random.chance(probability)) return false;
    ++count;
    return true;
  }

  // The size to which `node` can grow.
  std::uint64_t reach_of(const Node& node) const noexcept {
    if (faults.capacity_bytes == UINT64_MAX) return UINT64_MAX;
    std::uint64_t used = 0;
    for (const auto& [name, named] : names) used += named->cached.size();
    return node.cached.size() + (faults.capacity_bytes > used ? faults.capacity_bytes - used : 0);
  }

  static void make_dirty(Node& node, std::uint64_t from, std::uint64_t end) {
    for (std::uint64_t page = from / page_bytes; page * page_bytes < end; ++page) node.dirty.insert(page);
  }
  static void resize(Node& node, std::uint64_t size) {
    const std::uint64_t before = node.cached.size();
    node.cached.resize(size);
    if (size > before) {
      make_dirty(node, before, size);
    } else {
      node.dirty.erase(node.dirty.lower_bound((size + page_bytes - 1) / page_bytes), node.dirty.end());
    }
  }
  static void put(Node& node, std::string_view bytes, std::uint64_t at) {
    if (at + bytes.size() > node.cached.size()) resize(node, at + bytes.size());
    node.cached.replace(at, bytes.size(), bytes);
    make_dirty(node, at, at + bytes.size());
  }

  void write_page(Node& node, std::uint64_t page) {
    const std::uint64_t end = std::min((page + 1) * page_bytes, node.cached.size());
    if (node.durable.size() < end) node.durable.resize(end);
    copy_range(node.durable, node.cached, page * page_bytes, page_bytes);
  }
  void write_back(Node& node) {
    if (node.dirty.empty() || !fails(faults.write_back, counts.pages_early)) return;
    const auto page = std::next(node.dirty.begin(), static_cast<std::ptrdiff_t>(random.below(node.dirty.size())));
    write_page(node, *page);
    node.dirty.erase(page);
  }
  void sync(Node& node) {
    for (const std::uint64_t page : node.dirty) write_page(node, page);
    node.dirty.clear();
    node.durable.resize(node.cached.size());
  }
  void sync_in_vain(Node& node) {
    const std::string before = node.durable;
    for (const std::uint64_t page : node.dirty) {
      if (random.chance(0.5)) {
        write_page(node, page);
      } else if (random.chance(0.25)) {
        copy_range(node.cached, before, page * page_bytes, page_bytes);
      }
    }
    node.dirty.clear();
  }

  // Sets `node` to the content that remains after a power loss: each of its unsynced pages is kept with probability
  // `keep`.
  void lose(Node& node, double keep) {
    const std::uint64_t old_size = node.durable.size();
    const std::uint64_t new_size = node.cached.size();
    std::uint64_t size = new_size;
    if (old_size != new_size && !random.chance(keep)) {
      ++counts.sizes_lost;
      // A file shrinks in one change of the file system, but may grow in several changes. Therefore only a file that
      // was growing can have a size between the old size and the new size.
      const std::uint64_t first = old_size / page_bytes + 1;
      const std::uint64_t between = old_size < new_size ? (new_size - 1) / page_bytes + 1 - first : 0;
      size = between == 0 || random.chance(0.5) ? old_size : (first + random.below(between)) * page_bytes;
    }
    const bool garbage = random.chance(0.5);
    std::string left(size, '\0');
    for (std::uint64_t page = 0; page * page_bytes < size; ++page) {
      const std::uint64_t at = page * page_bytes;
      const bool is_dirty = node.dirty.contains(page);
      const bool whole = !random.chance(0.3);
      const bool keep_page = is_dirty && random.chance(keep);
      if (is_dirty && !whole) ++counts.pages_torn;
      if (is_dirty && whole && !keep_page) ++counts.pages_lost;
      for (std::uint64_t sector = at; sector < std::min(at + page_bytes, size); sector += sector_bytes) {
        const bool keep_sector = whole || !is_dirty ? keep_page : random.chance(0.5);
        if (keep_sector || sector < old_size) {
          copy_range(left, keep_sector ? node.cached : node.durable, sector, sector_bytes);
        } else if (garbage) {
          for (std::uint64_t i = sector; i < std::min(sector + sector_bytes, size); ++i) {
            left[i] = static_cast<char>(random.next());
          }
        }
      }
    }
    node.cached = left;
    node.durable = std::move(left);
    node.dirty.clear();
  }

  void lose_names(double keep) {
    std::set<std::string> all;
    for (const auto& [name, node] : names) all.insert(name);
    for (const auto& [name, node] : durable_names) all.insert(name);
    Names left;
    for (const std::string& name : all) {
      const auto seen = names.find(name);
      const auto written = durable_names.find(name);
      const NodePtr now = seen != names.end() ? seen->second : nullptr;
      const NodePtr then = written != durable_names.end() ? written->second : nullptr;
      const bool keeps = now == then || random.chance(keep);
      if (!keeps) ++counts.names_lost;
      if (const NodePtr& node = keeps ? now : then; node != nullptr) left.emplace(name, node);
    }
    // A renamed file keeps at least one of its names: if it has lost all of them, it gets its new name.
    for (const auto& [old_name, node] : durable_names) {
      const auto has = [&node](const auto& named) { return named.second == node; };
      if (std::ranges::any_of(left, has)) continue;
      if (const auto renamed = std::ranges::find_if(names, has); renamed != names.end()) {
        left.insert_or_assign(renamed->first, node);
      }
    }
    names = left;
    durable_names = std::move(left);
  }
};

Disk::Disk(std::uint64_t seed, const DiskFaults& faults) : state_(std::make_unique<State>(seed, faults)) {}
Disk::~Disk() = default;

void Disk::set_faults(const DiskFaults& faults) noexcept { state_->faults = faults; }

int Disk::open(std::string_view path, bool make) {
  State& state = *state_;
  const auto end = [&](int result) { return static_cast<int>(state.trace(What::Open, make, 0, result, path)); };
  if (!state.on) return end(-EIO);
  auto at = state.names.find(path);
  if (at == state.names.end()) {
    if (!make) return end(-ENOENT);
    const bool off = state.loses_power();
    if (off && state.random.chance(0.5)) return power_off(), end(-EIO);
    if (state.fails(state.faults.write_error, state.counts.write_errors)) return end(-EIO);
    auto node = std::make_shared<Node>();
    node->id = ++state.nodes_made;
    at = state.names.emplace(path, std::move(node)).first;
    if (off) return power_off(), end(-EIO);
  }
  auto free = std::ranges::find(state.handles, nullptr, &State::Handle::node);
  if (free == state.handles.end()) free = state.handles.emplace(free);
  *free = {at->second, state.life};
  return end(static_cast<int>(free - state.handles.begin()));
}

void Disk::close(int fd) noexcept {
  state_->node_of(fd);
  state_->trace(What::Close, static_cast<std::uint64_t>(fd), 0, 0);
  state_->handles[static_cast<std::size_t>(fd)] = {};
}

std::int64_t Disk::read(int fd, std::span<char> into, std::uint64_t at) {
  State& state = *state_;
  Node* node = state.node_of(fd);
  if (node == nullptr) return state.trace(What::Read, static_cast<std::uint64_t>(fd), at, -EIO);
  if (state.fails(state.faults.read_error, state.counts.read_errors)) {
    return state.trace(What::Read, node->id, at, -EIO);
  }
  std::uint64_t size = at < node->cached.size() ? std::min(into.size(), node->cached.size() - at) : 0;
  if (size > 1 && state.fails(state.faults.short_read, state.counts.short_reads)) {
    size = 1 + state.random.below(size - 1);
  }
  if (size != 0) std::memcpy(into.data(), node->cached.data() + at, size);
  return state.trace(What::Read, node->id, at, static_cast<std::int64_t>(size), {into.data(), size});
}

std::int64_t Disk::write(int fd, std::string_view bytes, std::uint64_t at) {
  State& state = *state_;
  Node* node = state.node_of(fd);
  if (node == nullptr) return state.trace(What::Write, static_cast<std::uint64_t>(fd), at, -EIO);
  const auto end = [&](std::int64_t result) { return state.trace(What::Write, node->id, at, result, bytes); };
  if (bytes.empty()) return end(0);
  if (state.loses_power()) {
    if (state.random.chance(0.5)) State::put(*node, bytes.substr(0, state.random.below(bytes.size() + 1)), at);
    return power_off(), end(-EIO);
  }
  if (state.fails(state.faults.write_error, state.counts.write_errors)) {
    if (state.random.chance(0.5)) State::put(*node, bytes.substr(0, state.random.below(bytes.size())), at);
    return end(-EIO);
  }
  std::uint64_t size = bytes.size();
  if (const std::uint64_t reach = state.reach_of(*node); size > reach || at > reach - size) {
    ++state.counts.full;
    if (at >= reach) return end(-ENOSPC);
    size = reach - at;
  } else if (size > 1 && state.fails(state.faults.short_write, state.counts.short_writes)) {
    size = 1 + state.random.below(size - 1);
  }
  State::put(*node, bytes.substr(0, size), at);
  state.write_back(*node);
  return end(static_cast<std::int64_t>(size));
}

int Disk::truncate(int fd, std::uint64_t size) {
  State& state = *state_;
  Node* node = state.node_of(fd);
  const auto end = [&](int result) {
    return static_cast<int>(state.trace(What::Truncate, node != nullptr ? node->id : 0, size, result));
  };
  if (node == nullptr) return end(-EIO);
  const bool off = state.loses_power();
  if (off && state.random.chance(0.5)) return power_off(), end(-EIO);
  if (state.fails(state.faults.write_error, state.counts.write_errors)) return end(-EIO);
  if (size > node->cached.size() && size > state.reach_of(*node)) {
    ++state.counts.full;
    return end(-ENOSPC);
  }
  State::resize(*node, size);
  if (off) return power_off(), end(-EIO);
  return end(0);
}

std::int64_t Disk::size(int fd) {
  Node* node = state_->node_of(fd);
  const std::int64_t result = node != nullptr ? static_cast<std::int64_t>(node->cached.size()) : -EIO;
  return state_->trace(What::Size, static_cast<std::uint64_t>(fd), 0, result);
}

int Disk::sync(int fd) {
  State& state = *state_;
  Node* node = state.node_of(fd);
  const auto end = [&](int result) {
    return static_cast<int>(state.trace(What::Sync, node != nullptr ? node->id : 0, 0, result));
  };
  if (node == nullptr) return end(-EIO);
  if (state.loses_power()) return power_off(), end(-EIO);
  if (!state.faults.syncs) return end(0);
  if (state.fails(state.faults.sync_error, state.counts.sync_errors)) {
    state.sync_in_vain(*node);
    return end(-EIO);
  }
  ++state.counts.syncs;
  state.sync(*node);
  return end(0);
}

std::int64_t Disk::find(std::string_view path) {
  std::int64_t result = -EIO;
  if (state_->on) {
    const auto at = state_->names.find(path);
    result = at != state_->names.end() ? static_cast<std::int64_t>(at->second->cached.size()) : -ENOENT;
  }
  return state_->trace(What::Find, 0, 0, result, path);
}

int Disk::remove(std::string_view path) {
  State& state = *state_;
  const auto end = [&](int result) { return static_cast<int>(state.trace(What::Remove, 0, 0, result, path)); };
  if (!state.on) return end(-EIO);
  const auto at = state.names.find(path);
  if (at == state.names.end()) return end(-ENOENT);
  const bool off = state.loses_power();
  if (off && state.random.chance(0.5)) return power_off(), end(-EIO);
  if (state.fails(state.faults.write_error, state.counts.write_errors)) return end(-EIO);
  state.names.erase(at);
  if (off) return power_off(), end(-EIO);
  return end(0);
}

int Disk::rename(std::string_view from, std::string_view to) {
  State& state = *state_;
  const auto end = [&](int result) {
    state.trace(What::Rename, 0, 0, result, from);
    return static_cast<int>(state.trace(What::Rename, 1, 0, result, to));
  };
  if (!state.on) return end(-EIO);
  const auto at = state.names.find(from);
  if (at == state.names.end()) return end(-ENOENT);
  const bool off = state.loses_power();
  if (off && state.random.chance(0.5)) return power_off(), end(-EIO);
  if (state.fails(state.faults.write_error, state.counts.write_errors)) return end(-EIO);
  NodePtr node = at->second;
  state.names.erase(at);
  state.names.insert_or_assign(std::string(to), std::move(node));
  if (off) return power_off(), end(-EIO);
  return end(0);
}

int Disk::sync_folder(std::string_view path) {
  State& state = *state_;
  const std::string_view folder = folder_of(path);
  const auto end = [&](int result) { return static_cast<int>(state.trace(What::Folder, 0, 0, result, folder)); };
  if (!state.on) return end(-EIO);
  if (state.loses_power()) return power_off(), end(-EIO);
  if (!state.faults.syncs) return end(0);
  // The names stay unsynced but are not lost: unlike pages, they remain in the file system's journal.
  if (state.fails(state.faults.sync_error, state.counts.sync_errors)) return end(-EIO);
  ++state.counts.syncs;
  const auto is_here = [folder](const auto& named) { return folder_of(named.first) == folder; };
  std::erase_if(state.durable_names, is_here);
  for (const auto& named : state.names) {
    if (is_here(named)) state.durable_names.insert(named);
  }
  return end(0);
}

bool Disk::is_on() const noexcept { return state_->on; }
void Disk::power_off() noexcept {
  state_->on = false;
  state_->changes_left = 0;
  state_->trace(What::Off, 0, 0, 0);
}
void Disk::power_off_after(std::uint64_t changes) noexcept { state_->changes_left = changes; }

void Disk::power_on() {
  State& state = *state_;
  KEEL_CHECK(!state.on, "the power can be restored only after it has failed");
  ++state.counts.power_losses;
  // Each power loss has its own probability of keeping data that was not synced, so that some power losses keep
  // everything and others keep nothing.
  constexpr double luck[] = {0, 0.1, 0.5, 0.9, 1};
  const double keep = luck[state.random.below(std::size(luck))];
  state.lose_names(keep);
  std::set<std::pair<std::uint64_t, Node*>> nodes;
  for (const auto& [name, node] : state.names) nodes.emplace(node->id, node.get());
  for (const auto& [id, node] : nodes) {
    state.lose(*node, keep);
    state.trace(What::On, id, 0, static_cast<std::int64_t>(node->cached.size()), node->cached);
  }
  ++state.life;
  state.on = true;
}

std::uint64_t Disk::changes() const noexcept { return state_->changes; }
const DiskCounts& Disk::counts() const noexcept { return state_->counts; }
std::uint64_t Disk::trace_hash() const noexcept { return state_->hash; }

}  // namespace keel::sim
