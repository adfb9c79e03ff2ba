#include "keel/app/container.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>

#include "keel/app/lifecycle.h"
#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/base/type_name.h"
#include "keel/data/json.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app {
namespace internal {
namespace {

// A binding and its state.
struct Node : Binding {
  explicit Node(Binding&& binding) : Binding(std::move(binding)) {}

  std::vector<Node*> from;     // The nodes whose services this node's service needs.
  Node* needed_by = nullptr;   // The first node whose service needs this node's service.
  std::uint32_t place = 0;     // For Scoped and Given: the index in the table of a scope.
  bool is_checked = false;     // Whether build() has checked what this service needs.
  bool is_being_made = false;  // Only for Singleton and Lazy; Core::making guards this member.
  // For Value, Singleton and Lazy: the object, as a pointer to the type that the node provides.
  std::atomic<void*> object = nullptr;
  void* at = nullptr;  // For Singleton: the memory in which the object was made.
  // How long the construction of the first instance took, and its place in the order of construction; instances that
  // workers make later for their requests do not change these values.
  std::atomic<std::int64_t> took_ns = -1;
  std::atomic<std::int32_t> order = -1;
};

// A path of needs, from the requested service to the service that is being made.
struct Path {
  const Node& node;
  const Path* above;
};

std::uint32_t index_of(TypeId& type) noexcept {
  constinit static std::atomic<std::uint32_t> next = 1;
  std::uint32_t index = type.index.load(std::memory_order_relaxed);
  if (index != 0) return index;
  const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return type.index.compare_exchange_strong(index, mine, std::memory_order_relaxed) ? mine : index;
}

std::string name_of(const TypeId& type) { return plain_name(type.name); }
std::string name_of(const Node& node) { return name_of(*node.provides); }

// "main.cc:31"
std::string text_of(const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') + 1);
  return std::string(file) + ':' + std::to_string(where.line());
}

const char* text_of(Lifetime lifetime) noexcept {
  switch (lifetime) {
    case Lifetime::Value:
      return "value";
    case Lifetime::Singleton:
      return "singleton";
    case Lifetime::Lazy:
      return "lazy";
    case Lifetime::Transient:
      return "transient";
    case Lifetime::Scoped:
      return "scoped";
    case Lifetime::Given:
      return "given";
  }
  return "";
}

bool is_scoped(const Node& node) noexcept {
  return node.lifetime == Lifetime::Scoped || node.lifetime == Lifetime::Given;
}

}  // namespace

struct Made {
  Made* before;
  Made* transients;  // The transient services that were made for this service.
  const Node* node;
  void* at;
};

struct Core {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Node*> by_index;            // Indexed by TypeId::index; null: the type is not provided.
  std::vector<std::atomic<void*>> slots;  // The objects that get() returns; they too are indexed by TypeId::index.
  std::uint32_t places = 0;
  bool is_building = true;
  std::int64_t took_ns = 0;
  std::atomic<std::int32_t> made_count = 0;
  std::recursive_mutex making;  // The mutex is recursive, because a constructor may request a lazy service.
  Made* last = nullptr;

  Result<void*> provide(Node& node, ScopeState* scope, Made*& owner, const Path* above);
  Result<void*> make(Node& node, ScopeState* scope, Made*& owner, const Path* above);
  void publish(Node& node, void* object) noexcept;
  std::string chain(const Path& path) const;
};

namespace {

void destroy_all(Made*& last, bool is_heap) noexcept {
  while (last != nullptr) {
    Made* const made = std::exchange(last, last->before);
    made->node->destroy(made->at);
    destroy_all(made->transients, is_heap);
    if (is_heap) ::operator delete(made);
  }
}

// Allocates a Made, followed by space for the object that `node` makes.
Made* room_for(const Node& node, ScopeState* scope) {
  constexpr std::size_t usual = 16;
  const std::size_t padding = node.alignment > usual ? node.alignment - usual : 0;
  static_assert(sizeof(Made) % usual == 0);
  const std::size_t bytes = sizeof(Made) + padding + node.bytes;
  void* const block = scope != nullptr ? scope->memory.allocate(bytes, usual) : ::operator new(bytes);
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block) + sizeof(Made);
  const std::uintptr_t at = (begin + node.alignment - 1) & ~(node.alignment - 1);
  return ::new (block) Made{nullptr, nullptr, &node, reinterpret_cast<void*>(at)};
}

}  // namespace

// "main.cc:12: Api needs Users needs Database"
std::string Core::chain(const Path& path) const {
  std::vector<const Node*> links;
  const Node* top = nullptr;
  for (const Path* at = &path; at != nullptr; at = at->above) links.push_back(top = &at->node);
  // build() makes each service before it makes the services that need it.
  for (const Node* at = top->needed_by; is_building && at != nullptr; at = at->needed_by) links.push_back(at);
  std::string text = text_of(path.node.where) + ": ";
  for (auto at = links.rbegin(); at != links.rend(); ++at) {
    text += (at == links.rbegin() ? "" : " needs ") + name_of(**at);
  }
  return text;
}

void Core::publish(Node& node, void* object) noexcept {
  node.object.store(object, std::memory_order_release);
  slots[index_of(*node.provides->constant)].store(object, std::memory_order_release);
  if (node.provides == node.provides->plain) {
    slots[index_of(*node.provides)].store(object, std::memory_order_release);
  }
}

Result<void*> Core::provide(Node& node, ScopeState* scope, Made*& owner, const Path* above) {
  switch (node.lifetime) {
    case Lifetime::Value:
      return node.object.load(std::memory_order_relaxed);
    case Lifetime::Singleton:
    case Lifetime::Lazy: {
      if (void* const object = node.object.load(std::memory_order_acquire); object != nullptr) return object;
      const std::lock_guard lock(making);
      if (void* const object = node.object.load(std::memory_order_relaxed); object != nullptr) return object;
      if (node.is_being_made) {
        return Error::text(Code::FailedPrecondition,
                           chain({node, above}) + ": it was requested during its own construction");
      }
      node.is_being_made = true;
      Result<void*> object = make(node, nullptr, last, above);
      node.is_being_made = false;
      if (object) publish(node, *object);
      return object;
    }
    case Lifetime::Transient:
      return make(node, scope, owner, above);
    case Lifetime::Scoped: {
      void*& object = scope->table[node.place];
      if (object == nullptr) {
        KEEL_TRY(object, make(node, scope, scope->last, above));
      }
      return object;
    }
    case Lifetime::Given: {
      void* const object = scope->table[node.place];
      if (object != nullptr) return object;
      return Error::text(Code::FailedPrecondition, chain({node, above}) + ": no object was given to the scope");
    }
  }
  return fail(Code::Internal, "a service must have a lifetime");
}

Result<void*> Core::make(Node& node, ScopeState* scope, Made*& owner, const Path* above) {
  const Path path{node, above};
  void* needs[needs_max];
  Made* transients = nullptr;
  for (std::size_t i = 0; i < node.from.size(); ++i) {
    Result<void*> need = provide(*node.from[i], scope, transients, &path);
    if (!need) {
      destroy_all(transients, scope == nullptr);
      return need;
    }
    needs[i] = *need;
  }
  Made* const made = room_for(node, scope);
  made->transients = transients;
  const bool is_first = node.took_ns.load(std::memory_order_relaxed) < 0;
  const Instant began = is_first ? Host::current().now() : Instant();
  Result<void*> object = [&]() -> Result<void*> {
    try {
      return node.make(made->at, needs);
    } catch (...) {
      return Error::from_exception();
    }
  }();
  if (!object) {
    destroy_all(made->transients, scope == nullptr);
    if (scope == nullptr) ::operator delete(made);
    return std::move(object).because(chain(path));
  }
  if (is_first) {
    node.took_ns.store((Host::current().now() - began).count_ns(), std::memory_order_relaxed);
    node.order.store(made_count.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  }
  made->before = std::exchange(owner, made);
  if (node.lifetime == Lifetime::Singleton) node.at = made->at;
  return object;
}

void CoreDelete::operator()(Core* core) const noexcept {
  destroy_all(core->last, true);
  delete core;
}

Result<void*> resolve(Core& core, TypeId& type, ScopeState* scope) {
  const std::uint32_t index = type.index.load(std::memory_order_relaxed);
  Node* const node = index < core.by_index.size() ? core.by_index[index] : nullptr;
  if (node == nullptr) return Error::text(Code::NotFound, "nobody provides " + name_of(type));
  if (scope == nullptr && (is_scoped(*node) || node->lifetime == Lifetime::Transient)) {
    return Error::text(Code::FailedPrecondition,
                       name_of(*node) + " is " + text_of(node->lifetime) + ": resolve it in a scope");
  }
  return core.provide(*node, scope, scope != nullptr ? scope->last : core.last, nullptr);
}

void give(ScopeState& scope, TypeId& type, void* object, std::source_location place) {
  const std::uint32_t index = type.index.load(std::memory_order_relaxed);
  const Node* const node = index < scope.core.by_index.size() ? scope.core.by_index[index] : nullptr;
  KEEL_EXPECT_AT(node != nullptr && node->lifetime == Lifetime::Given,
                 "give() needs a type that is declared with Container::given(): " + name_of(type), place);
  KEEL_EXPECT_AT(scope.table[node->place] == nullptr, "give() was called twice for one scope: " + name_of(type), place);
  scope.table[node->place] = object;
}

void refuse_get(const TypeId& type, std::source_location place) {
  throw_bug(
      "get() needs a service that is provided and already made: " + name_of(type) + "; resolve() makes a lazy service",
      place);
}

namespace {

// Finds the provider of each service, and reports every mistake.
class Wirer {
 public:
  explicit Wirer(Core& core) : core_(core) {}

  void mistake(const std::source_location& where, const std::string& text) {
    mistakes_ += (mistakes_.empty() ? "" : "\n") + text_of(where) + ": " + text;
  }

  Result<> wire() {
    find_doubles();
    std::vector<Node*> nodes;
    for (const auto& node : core_.nodes) nodes.push_back(node.get());
    for (Node* node : nodes) node->from.resize(node->needs.size());
    for (Node* node : nodes) {
      for (std::size_t i = 0; i < node->needs.size(); ++i) {
        Node* const from = provider(*node->needs[i]);
        node->from[i] = from;
        if (from != nullptr && from->needed_by == nullptr && from != node) from->needed_by = node;
      }
    }
    // Begins with nodes that no other node needs, so that a chain of needs is reported from its beginning.
    std::vector<Node*> path;
    for (Node* node : nodes) {
      if (node->needed_by == nullptr) follow(*node, path);
    }
    for (Node* node : nodes) follow(*node, path);
    if (!mistakes_.empty()) return Error::text(Code::FailedPrecondition, mistakes_);
    for (Node* node : nodes) {
      if (node->lifetime == Lifetime::Singleton || node->lifetime == Lifetime::Lazy) find_scoped(*node, path);
    }
    if (!mistakes_.empty()) return Error::text(Code::FailedPrecondition, mistakes_);
    return {};
  }

 private:
  void find_doubles() {
    for (std::size_t i = 0; i < core_.nodes.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Node& first = *core_.nodes[j];
        const Node& second = *core_.nodes[i];
        if (first.provides->plain != second.provides->plain) continue;
        mistake(second.where,
                name_of(second) + " is provided twice, first at " + text_of(first.where) + ": remove one");
        break;
      }
    }
  }

  Node* same_type(const TypeId& type) const {
    for (const auto& node : core_.nodes) {
      if (node->provides->plain == type.plain) return node.get();
    }
    return nullptr;
  }
  Node* provider(const TypeId& need) const {
    Node* const node = same_type(need);
    const bool fits = node != nullptr && (&need == need.constant || node->provides == node->provides->plain);
    return fits ? node : nullptr;
  }

  static std::string text_of_chain(const std::vector<Node*>& path, std::size_t from, bool with_lifetimes = false) {
    std::string text;
    for (std::size_t i = from; i < path.size(); ++i) {
      text += (i == from ? "" : " needs ") + name_of(*path[i]);
      if (with_lifetimes) text += std::string(" (") + text_of(path[i]->lifetime) + ')';
    }
    return text;
  }

  std::string why_missing(const TypeId& need) const {
    const std::string name = name_of(need);
    if (same_type(need) != nullptr) return name + " is provided as const only: take a const reference";
    for (const auto& node : core_.nodes) {
      if (node->implementation != nullptr && node->implementation->plain == need.plain) {
        return name + " is provided only as " + name_of(*node) + ": take a reference to that class";
      }
    }
    return "nobody provides " + name + ": add singleton<" + name + ">() or value() to the container";
  }

  void follow(Node& node, std::vector<Node*>& path) {
    if (const auto before = std::find(path.begin(), path.end(), &node); before != path.end()) {
      const auto begin = static_cast<std::size_t>(before - path.begin());
      path.push_back(&node);
      mistake(node.where,
              text_of_chain(path, begin) +
                  ": none of them can be constructed first; move the code that they share into a separate service");
      path.pop_back();
      return;
    }
    if (std::exchange(node.is_checked, true)) return;
    path.push_back(&node);
    for (std::size_t i = 0; i < node.from.size(); ++i) {
      if (node.from[i] != nullptr) {
        follow(*node.from[i], path);
      } else {
        mistake(node.where,
                text_of_chain(path, 0) + " needs " + name_of(*node.needs[i]) + ": " + why_missing(*node.needs[i]));
      }
    }
    path.pop_back();
  }

  void find_scoped(Node& node, std::vector<Node*>& path) {
    path.push_back(&node);
    for (Node* need : node.from) {
      if (need->lifetime == Lifetime::Transient) find_scoped(*need, path);
      if (!is_scoped(*need)) continue;
      path.push_back(need);
      mistake(path.front()->where, text_of_chain(path, 0, true) + ": " + name_of(*path.front()) +
                                       " would outlive the service that it "
                                       "needs, so it must be scoped too");
      path.pop_back();
    }
    path.pop_back();
  }

  Core& core_;
  std::string mistakes_;
};

bool is_module(const Node& node) noexcept {
  return node.lifetime == Lifetime::Singleton && (node.phases.start != nullptr || node.phases.stop != nullptr);
}

// Appends the modules that `node` needs, directly or through services that are not modules; appends each module only
// once.
void add_needs(const Node& node, std::vector<std::string>& names) {
  for (const Node* need : node.from) {
    if (!is_module(*need)) {
      add_needs(*need, names);
    } else if (std::string name = name_of(*need); std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
}

// The tree of needs below `node`; a subtree that was already shown is only named.
struct Tree {
  std::vector<const Node*> shown;
  struct Line {
    std::string name;
    std::string facts;
  };
  std::vector<Line> lines;

  void add(const Node& node, std::size_t depth) {
    std::string name(depth * 2, ' ');
    name += name_of(node);
    if (node.implementation != nullptr && node.implementation->plain != node.provides->plain) {
      name += ": " + name_of(*node.implementation);
    }
    if (std::find(shown.begin(), shown.end(), &node) != shown.end()) {
      lines.push_back({std::move(name), "see above"});
      return;
    }
    shown.push_back(&node);
    std::string facts = text_of(node.lifetime);
    facts.resize(std::max<std::size_t>(facts.size(), 9), ' ');
    char took[32] = "         -";
    if (const std::int64_t ns = node.took_ns.load(std::memory_order_relaxed); ns >= 0) {
      std::snprintf(took, sizeof took, "%7.3f ms", static_cast<double>(ns) * 1e-6);
    }
    lines.push_back({std::move(name), facts + "  " + took + "  " + text_of(node.where)});
    for (const Node* need : node.from) {
      if (need->provides != &type_id<Core>()) add(*need, depth + 1);
    }
  }
};

}  // namespace
}  // namespace internal

using internal::Binding;
using internal::Core;
using internal::Node;

Container& Container::add(Binding binding, internal::Lifetime lifetime, Where where) {
  binding.lifetime = lifetime;
  binding.where = where;
  bindings_.push_back(std::move(binding));
  return *this;
}

Container& Container::add_value(internal::TypeId& type, void* object, Where where) {
  Binding binding;
  binding.provides = &type;
  binding.value = object;
  return add(std::move(binding), internal::Lifetime::Value, where);
}

Container& Container::add_given(internal::TypeId& type, Where where) {
  Binding binding;
  binding.provides = &type;
  return add(std::move(binding), internal::Lifetime::Given, where);
}

Container& Container::add_replacement(Binding binding, Where where) {
  binding.where = where;
  replacements_.push_back(std::move(binding));
  return *this;
}

Container& Container::add_value_replacement(internal::TypeId& type, void* object, Where where) {
  Binding binding;
  binding.provides = &type;
  binding.value = object;
  binding.lifetime = internal::Lifetime::Value;
  return add_replacement(std::move(binding), where);
}

Result<Services> Container::build() {
  const Instant began = Host::current().now();
  std::unique_ptr<Core, internal::CoreDelete> core(new Core);
  internal::Wirer wirer(*core);
  add_value(internal::type_id<Core>(), core.get(), Where::current());
  for (Binding& replacement : replacements_) {
    const auto before = std::find_if(bindings_.begin(), bindings_.end(), [&](const Binding& binding) {
      return binding.provides->plain == replacement.provides->plain;
    });
    if (before == bindings_.end()) {
      const std::string name = internal::name_of(*replacement.provides);
      wirer.mistake(replacement.where, "nobody provides " + name + ", so it cannot be replaced");
      continue;
    }
    if (replacement.lifetime != internal::Lifetime::Value) replacement.lifetime = before->lifetime;
    *before = std::move(replacement);
  }
  for (Binding& binding : bindings_) core->nodes.push_back(std::make_unique<Node>(std::move(binding)));
  bindings_.clear();
  replacements_.clear();
  KEEL_TRY_VOID(wirer.wire());

  std::uint32_t count = 0;
  for (const auto& node : core->nodes) {
    count = std::max(
        {count, internal::index_of(*node->provides->plain) + 1, internal::index_of(*node->provides->constant) + 1});
  }
  core->by_index.resize(count);
  core->slots = std::vector<std::atomic<void*>>(count);
  for (const auto& node : core->nodes) {
    core->by_index[internal::index_of(*node->provides->constant)] = node.get();
    if (node->provides == node->provides->plain) core->by_index[internal::index_of(*node->provides)] = node.get();
    if (internal::is_scoped(*node)) node->place = core->places++;
    if (node->lifetime == internal::Lifetime::Value) core->publish(*node, node->value);
  }
  for (const auto& node : core->nodes) {
    if (node->lifetime != internal::Lifetime::Singleton) continue;
    KEEL_TRY_VOID(core->provide(*node, nullptr, core->last, nullptr));
  }
  core->is_building = false;
  core->took_ns = (Host::current().now() - began).count_ns();
  return Services(std::move(core));
}

Services::Services(std::unique_ptr<Core, internal::CoreDelete> core) noexcept
    : core_(std::move(core)), slots_(core_->slots.data()), count_(static_cast<std::uint32_t>(core_->slots.size())) {}

Services::Scope Services::scope(Arena& memory) const { return Scope(*core_, memory); }

Services::Scope::Scope(Core& core, Arena& memory) noexcept : state_{core, memory} {
  if (core.places == 0) return;
  state_.table = memory.array<void*>(core.places).data();
  std::fill_n(state_.table, core.places, nullptr);
}

Services::Scope::~Scope() { internal::destroy_all(state_.last, false); }

void Services::add_to(Lifecycle& lifecycle) const {
  for (const auto& node : core_->nodes) {
    if (!internal::is_module(*node)) continue;
    Module module{.name = internal::name_of(*node)};
    internal::add_needs(*node, module.needs);
    if (node->phases.start != nullptr) {
      module.start = [start = node->phases.start, at = node->at] { return start(at); };
    }
    if (node->phases.stop != nullptr) {
      module.stop = [stop = node->phases.stop, at = node->at] { stop(at); };
    }
    lifecycle.add(std::move(module));
  }
}

void Services::write_text(Buffer& out) const {
  internal::Tree tree;
  for (const auto& node : core_->nodes) {
    if (node->needed_by == nullptr && node->provides != &internal::type_id<Core>()) tree.add(*node, 0);
  }
  std::size_t width = 0;
  for (const auto& line : tree.lines) width = std::max(width, line.name.size());
  for (auto& line : tree.lines) {
    line.name.resize(width + 2, ' ');
    out.append(line.name + line.facts + '\n');
  }
}

void Services::write_json(Buffer& out) const {
  json::Writer json(out);
  json.begin_object().key("took_ns").integer(core_->took_ns).key("services").begin_array();
  for (const auto& node : core_->nodes) {
    if (node->provides == &internal::type_id<Core>()) continue;
    json.begin_object().key("name").string(internal::name_of(*node));
    json.key("implementation");
    if (node->implementation != nullptr) {
      json.string(internal::name_of(*node->implementation));
    } else {
      json.null();
    }
    json.key("lifetime").string(internal::text_of(node->lifetime));
    json.key("where").string(internal::text_of(node->where));
    json.key("needs").begin_array();
    for (const Node* need : node->from) {
      if (need->provides != &internal::type_id<Core>()) json.string(internal::name_of(*need));
    }
    json.end_array();
    const auto number = [&](std::string_view key, std::int64_t value) {
      json.key(key);
      if (value < 0) {
        json.null();
      } else {
        json.integer(value);
      }
    };
    number("order", node->order.load(std::memory_order_relaxed));
    number("took_ns", node->took_ns.load(std::memory_order_relaxed));
    json.end_object();
  }
  json.end_array().end_object();
}

void Services::add_pages(telemetry::AdminPages& pages) const {
  pages.add({.path = "/admin/graph",
             .json = [this](Buffer& out) { write_json(out); },
             .text = [this](Buffer& out) { write_text(out); }});
}

}  // namespace keel::app
