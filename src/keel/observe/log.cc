#include "keel/observe/log.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace keel::log {
namespace {

struct Named {
  explicit Named(std::string_view text, Level level) : name(text), component(name, level) {}
  std::string name;
  Component component;
};

struct Components {
  std::mutex mutex;
  std::vector<std::unique_ptr<Named>> all;
  Level level = Level::Info;  // The level of components that are made later.

  Component& find(std::string_view name) {
    for (auto& named : all) {
      if (named->name == name) return named->component;
    }
    all.push_back(std::make_unique<Named>(name, level));
    return all.back()->component;
  }
};

// Never destroyed: records and static Loggers refer to components until the process ends.
Components& components() {
  static Components& the_components = *new Components;
  return the_components;
}

}  // namespace

void set_level(Level level) {
  Components& c = components();
  std::lock_guard lock(c.mutex);
  c.level = level;
  for (auto& named : c.all) named->component.set_level(level);
}

void set_level(std::string_view component, Level level) {
  Components& c = components();
  std::lock_guard lock(c.mutex);
  c.find(component).set_level(level);
}

void each_component(FunctionRef<void(const Component&)> f) {
  Components& c = components();
  std::lock_guard lock(c.mutex);
  for (auto& named : c.all) f(named->component);
}

std::string_view to_string(Level level) noexcept {
  static constexpr std::string_view names[] = {"trace", "debug", "info", "warn", "error", "fatal"};
  return names[static_cast<std::size_t>(level)];
}

Logger::Logger(Name component) {
  Components& c = components();
  std::lock_guard lock(c.mutex);
  component_ = &c.find(component.view());
}

void Logger::record(Level level, Message message, const internal::Encoded& fields) const {
  write(level, message, static_cast<std::uint32_t>(fields.bytes.size()), fields.count, [&](char*& at) {
    if (fields.count != 0) std::memcpy(at, fields.bytes.data(), fields.bytes.size());
  });
}

namespace internal {
namespace {

std::uint64_t key_of(std::string_view name, Kind kind) noexcept {
  return reinterpret_cast<std::uintptr_t>(name.data()) << 16 | name.size() << 8 | static_cast<std::uint64_t>(kind);
}

}  // namespace

void Encoded::add(std::string_view name, Kind kind, std::uint64_t word) {
  const std::uint64_t words[] = {key_of(name, kind), word};
  std::memcpy(bytes.reserve(sizeof words), words, sizeof words);
  bytes.commit(sizeof words);
  ++count;
}

void Encoded::add(std::string_view name, std::string_view text) {
  const std::uint32_t size =
      text.size() < string_bytes_max ? static_cast<std::uint32_t>(text.size()) : string_bytes_max;
  add(name, Kind::String, size);
  if (size == 0) return;
  const std::uint32_t padded = rounded(size);
  std::memcpy(bytes.reserve(padded), text.data(), size);
  bytes.commit(padded);
}

}  // namespace internal

}  // namespace keel::log
