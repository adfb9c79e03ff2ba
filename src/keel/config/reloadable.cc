#include "keel/config/reloadable.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "keel/base/check.h"
#include "keel/config/internal/value.h"

namespace keel::config {
namespace {

bool is_at_or_below(std::string_view path, std::string_view place) {
  return place.empty() || path == place ||
         (path.size() > place.size() && path.starts_with(place) && path[place.size()] == '.');
}

bool has_path(std::span<const Field> fields, std::string_view path) {
  if (path.empty()) return true;
  const std::size_t dot = path.find('.');
  return std::any_of(fields.begin(), fields.end(), [&](const Field& f) {
    return f.key == path.substr(0, dot) &&
           (dot == std::string_view::npos || has_path(f.children, path.substr(dot + 1)));
  });
}

// Finds the differences between two values of one type, and copies the differences in reloadable fields.
class Difference {
 public:
  explicit Difference(const Origins& origins) : origins_(origins) {}

  // Copies reloadable values from `found` to `now`, which is at first a copy of the values in force.
  void section(std::span<const Field> now, std::span<const Field> found, const std::string& path, bool reloadable) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      one(now[i], found[i], join(path, now[i].key), reloadable || now[i].is_reloadable);
    }
  }
  std::vector<Change> take() { return std::move(changes_); }

 private:
  void one(const Field& now, const Field& found, const std::string& path, bool reloadable) {
    if (is_equal(now, found)) return;
    if (now.kind == Field::Kind::Section) return section(now.children, found.children, path, reloadable);
    if (now.kind == Field::Kind::List && now.get(now.at) == found.get(found.at)) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(now.get(now.at)); ++i) {
        one(element_of(now, i), element_of(found, i), join(path, std::to_string(i)), reloadable);
      }
      return;
    }
    if (now.kind == Field::Kind::Map && have_same_names(now, found)) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(now.get(now.at)); ++i) {
        const Field element = element_of(now, i);
        one(element, element_of(found, i), join(path, element.key), reloadable);
      }
      return;
    }
    changes_.push_back(
        {path, value_text(now), value_text(found), std::string(origins_.of(path)), /*is_applied=*/reloadable});
    if (reloadable) assign(now, found);
  }

  const Origins& origins_;
  std::vector<Change> changes_;
};

}  // namespace

struct Versions::Kept {
  explicit Kept(const Sources& from)
      : file(from.file), env_prefix(from.env_prefix), args(from.args.begin(), from.args.end()) {
    for (const std::string& arg : args) pointers.push_back(arg.c_str());
    environment = from.environment;
  }
  Sources sources(Origins* origins) const {
    return {.file = file, .env_prefix = env_prefix, .args = pointers, .environment = environment, .origins = origins};
  }

  std::string file, env_prefix;
  std::vector<std::string> args;
  std::vector<const char*> pointers;
  const char* const* environment;
};

Versions::Versions(const Type& type, void* value, Origins origins) : type_(type) {
  versions_.push_back(std::make_unique<Version>(Version{value, std::move(origins), {}, {}}));
  now_ = versions_.back().get();
}

Versions::~Versions() {
  KEEL_CHECK(entries_.empty(), "appliers must be destroyed before their configuration");
  for (const auto& version : versions_) type_.destroy(version->value);
}

Schema Versions::schema_of(void* value) const {
  Schema schema;
  type_.fields(value, schema);
  return schema;
}

Result<std::unique_ptr<Versions>> Versions::load(const Type& type, const Sources& sources) {
  auto versions = std::make_unique<Versions>(type, type.make(), Origins());
  versions->sources_ = std::make_unique<Kept>(sources);
  Version& first = *versions->versions_.front();
  Schema schema = versions->schema_of(first.value);
  KEEL_TRY_VOID(internal::load({schema, first.value, type.check}, versions->sources_->sources(&first.origins)));
  first.secrets = versions->secrets_of(first.value);
  return versions;
}

std::string Versions::describe() const {
  const Version& now = *now_.load(std::memory_order_acquire);
  std::string text;
  for (const Change& change : now.waiting) {
    text += fmt::format("# {} waits for a restart: {} ({})\n", change.path, change.after, change.origin);
  }
  return text + internal::describe(schema_of(now.value), now.origins);
}

std::uint64_t Versions::add(std::string_view path, Apply apply) {
  KEEL_CHECK(has_path(schema_of(versions_.front()->value).fields(), path),
             "the path of an applier must name a key or a section");
  entries_.push_back({++last_id_, std::string(path), std::move(apply)});
  return last_id_;
}

void Versions::remove(std::uint64_t id) noexcept {
  std::erase_if(entries_, [id](const Entry& entry) { return entry.id == id; });
}

Result<std::vector<Change>> Versions::reload(AfterReaders after_readers) {
  if (sources_ == nullptr) return std::vector<Change>();
  const Version& before = *now_.load(std::memory_order_acquire);
  const auto destroy = [this](void* value) { type_.destroy(value); };
  using Owned = std::unique_ptr<void, decltype(destroy)>;

  const Owned found(type_.make(), destroy);
  Origins origins;
  Schema found_schema = schema_of(found.get());
  KEEL_TRY_VOID(internal::load({found_schema, found.get(), type_.check}, sources_->sources(&origins)));

  Owned value(type_.clone(before.value), destroy);
  Schema schema = schema_of(value.get());
  Difference difference(origins);
  difference.section(schema.fields(), found_schema.fields(), {}, false);
  std::vector<Change> changes = difference.take();
  std::vector<Change> waiting;
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(waiting),
               [](const Change& change) { return !change.is_applied; });
  for (const Change& change : waiting) origins.keep(before.origins, change.path);
  if (changes.empty() && before.waiting.empty() && origins == before.origins) return changes;

  if (!waiting.empty()) {
    // The loaded values are valid, but the values in force will be a mixture of loaded and old values.
    KEEL_TRY_VOID(internal::check({schema, value.get(), type_.check}, origins)
                      .because("the new values are invalid together with the old values of keys that need a restart"));
  }
  KEEL_TRY_VOID(apply(changes, value.get(), before.value));
  std::vector<Secret*> secrets = secrets_of(value.get());
  versions_.push_back(
      std::make_unique<Version>(Version{value.release(), std::move(origins), std::move(waiting), std::move(secrets)}));
  now_.store(versions_.back().get(), std::memory_order_release);
  forget_replaced_secrets(after_readers);
  return changes;
}

std::vector<Secret*> Versions::secrets_of(void* value) const {
  std::vector<Secret*> secrets;
  each_secret(schema_of(value).fields(), {}, [&](const Field& f, const std::string&) {
    auto* const secret = static_cast<Secret*>(f.at);
    if (!secret->empty()) secrets.push_back(secret);
  });
  return secrets;
}

void Versions::forget_replaced_secrets(AfterReaders after_readers) {
  std::vector<std::string_view> in_force;
  for (const Secret* secret : versions_.back()->secrets) in_force.push_back(secret->reveal());
  std::sort(in_force.begin(), in_force.end());
  std::vector<Secret*> replaced;
  for (const auto& version : versions_) {
    std::erase_if(version->secrets, [&](Secret* secret) {
      if (std::binary_search(in_force.begin(), in_force.end(), secret->reveal())) return false;
      replaced_.push_back(std::make_unique<Secret>(secret->take()));
      replaced.push_back(replaced_.back().get());
      return true;
    });
  }
  if (replaced.empty()) return;
  after_readers([replaced = std::move(replaced)] {
    for (Secret* secret : replaced) secret->spoil();
  });
}

Result<> Versions::apply(const std::vector<Change>& changes, const void* now, const void* before) {
  std::vector<const Entry*> done;
  for (const Entry& entry : entries_) {
    const bool concerns = std::any_of(changes.begin(), changes.end(), [&](const Change& change) {
      return change.is_applied && is_at_or_below(change.path, entry.path);
    });
    if (!concerns) continue;
    Result<> applied = entry.apply(now, before);
    if (applied) {
      done.push_back(&entry);
      continue;
    }
    Error error = std::move(applied).error();
    for (auto undo = done.rbegin(); undo != done.rend(); ++undo) {
      const Result<> undone = (*undo)->apply(before, now);
      if (undone) continue;
      error = Error::text(error.code(), fmt::format("{}\nrolling back \"{}\": {}", error.describe(), (*undo)->path,
                                                    undone.error().describe()));
    }
    return error;
  }
  return {};
}

}  // namespace keel::config
