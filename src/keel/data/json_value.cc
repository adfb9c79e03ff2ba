#include "keel/data/json_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "keel/base/bug.h"

namespace keel::json {
namespace {

constexpr std::size_t short_max = 14;
constexpr std::size_t linear_max = 16;  // In an object with up to this many members, a key is searched for linearly.
constexpr int depth_limit = 128;

// The binary search would work with any order; with this order, it seldom has to compare bytes.
bool is_before(std::string_view a, std::string_view b) noexcept {
  return a.size() != b.size() ? a.size() < b.size() : a.compare(b) < 0;
}

void require_depth(int depth) {
  KEEL_EXPECT(depth < depth_limit,
              "a json::Value that is nested more than 128 levels deep cannot be copied, compared or written: no JSON "
              "reader of Keel would accept it");
}

// Compares two numbers exactly; returns -1, 0 or 1, or 2 if a number is NaN.
int compare(double real, std::int64_t whole) noexcept {
  if (std::isnan(real)) return 2;
  if (real >= 0x1p63) return 1;
  if (real < -0x1p63) return -1;
  const auto truncated = static_cast<std::int64_t>(real);
  if (truncated != whole) return truncated < whole ? -1 : 1;
  // The subtraction is exact, because a double with a fraction is below 2^53.
  const double rest = real - static_cast<double>(truncated);
  return rest < 0 ? -1 : rest > 0 ? 1 : 0;
}

}  // namespace

// The head of a block, before the values of a list or before the alternating keys and values of an object. If the block
// has space for more than linear_max members, the sorted order of the keys follows the values.
struct Value::Block {
  Block* next;  // Used only while the value is released.
  std::uint32_t size;
  std::uint32_t capacity : 31;
  std::uint32_t is_object : 1;

  static Block* make(bool is_object, std::size_t capacity) {
    KEEL_EXPECT(capacity < std::size_t{1} << 31, "a JSON list or object has too many elements");
    std::size_t bytes = sizeof(Block) + capacity * sizeof(Value);
    if (is_object) bytes += capacity * sizeof(Value) + (capacity > linear_max ? capacity * sizeof(std::uint32_t) : 0);
    return ::new (::operator new(bytes))
        Block{nullptr, 0, static_cast<std::uint32_t>(capacity) & 0x7FFFFFFF, is_object ? 1u : 0u};
  }
  static void free(Block* block) noexcept { ::operator delete(block); }

  Value* values() noexcept { return reinterpret_cast<Value*>(this + 1); }
  std::size_t value_count() const noexcept { return std::size_t{size} << is_object; }
  std::string_view key(std::size_t i) noexcept { return values()[2 * i].text(); }
  std::uint32_t* order() noexcept { return reinterpret_cast<std::uint32_t*>(values() + 2 * std::size_t{capacity}); }
  bool has_order() const noexcept { return capacity > linear_max; }

  // The position of `name` in order(), or the position where it would be inserted.
  std::uint32_t* lower_bound(std::string_view name) noexcept {
    return std::lower_bound(order(), order() + size, name,
                            [&](std::uint32_t i, std::string_view wanted) { return is_before(key(i), wanted); });
  }
  void sort() noexcept {
    for (std::uint32_t i = 0; i < size; ++i) order()[i] = i;
    std::sort(order(), order() + size, [&](std::uint32_t a, std::uint32_t b) {
      if (is_before(key(a), key(b))) return true;
      return !is_before(key(b), key(a)) && a < b;
    });
  }
  Value* find(std::string_view name) noexcept {
    if (!has_order()) {
      for (std::size_t i = 0; i < size; ++i) {
        if (key(i) == name) return &values()[2 * i + 1];
      }
      return nullptr;
    }
    const std::uint32_t* const at = lower_bound(name);
    return at != order() + size && key(*at) == name ? &values()[2 * std::size_t{*at} + 1] : nullptr;
  }
  // The index of the first member whose key an earlier member also has; `size` if all keys are different.
  std::size_t second() noexcept {
    std::size_t found = size;
    if (has_order()) {
      for (std::size_t i = 1; i < size; ++i) {
        const std::size_t at = order()[i];
        if (at < found && key(order()[i - 1]) == key(at)) found = at;
      }
      return found;
    }
    for (std::size_t i = 1; i < size; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (key(i) == key(j)) return i;
      }
    }
    return found;
  }
};

Value Value::array(std::initializer_list<Value> elements) {
  Value made;
  made.set(Type::Array, static_cast<Block*>(nullptr));
  for (const Value& element : elements) made.push_back(element);
  return made;
}

Value Value::object(std::initializer_list<Entry> members) {
  Value made;
  made.set(Type::Object, static_cast<Block*>(nullptr));
  for (const Entry& member : members) {
    KEEL_EXPECT(made.find(member.key) == nullptr, "a JSON object must not be made with a key that occurs twice");
    made[member.key] = member.value;
  }
  return made;
}

Value::Value(const Value& other) {
  if (other.type() < Type::Long) {
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    return;
  }
  set(Type::Null, std::uint64_t{0});
  *this = other.copy(0);
}

Value& Value::operator=(Value&& other) noexcept {
  Value taken(std::move(other));  // `other` may be this value, or a value inside this value.
  std::swap(bytes_, taken.bytes_);
  return *this;
}

void Value::set_string(std::string_view text) {
  if (text.size() <= short_max) {
    set(Type::Short, std::uint64_t{0});
    bytes_[1] = static_cast<unsigned char>(text.size());
    if (!text.empty()) std::memcpy(bytes_ + 2, text.data(), text.size());
    return;
  }
  KEEL_EXPECT(text.size() <= std::numeric_limits<std::uint32_t>::max(),
              "a string in a json::Value must be shorter than 4 GiB");
  auto* const copied = static_cast<char*>(::operator new(text.size()));
  std::memcpy(copied, text.data(), text.size());
  set(Type::Long, copied);
  const auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(bytes_ + 4, &size, sizeof size);
}

std::string_view Value::text() const noexcept {
  if (type() == Type::Short) return {reinterpret_cast<const char*>(bytes_ + 2), bytes_[1]};
  std::uint32_t size = 0;
  std::memcpy(&size, bytes_ + 4, sizeof size);
  return {payload<const char*>(), size};
}

// The function does not recurse: inner values are linked into a list, which uses their own memory.
void Value::release() noexcept {
  if (type() == Type::Long) {
    ::operator delete(payload<char*>());
    return;
  }
  Block* blocks = block();
  while (blocks != nullptr) {
    Block* const one = std::exchange(blocks, blocks->next);
    for (std::size_t i = 0; i < one->value_count(); ++i) {
      Value& value = one->values()[i];
      if (value.type() == Type::Long) {
        value.release();
      } else if (value.type() > Type::Long && value.block() != nullptr) {
        value.block()->next = blocks;
        blocks = value.block();
      }
    }
    Block::free(one);
  }
}

// Makes space for one more element in a list, or for one more member in an object.
void Value::grow(Type type) {
  Block* const old = block();
  const bool is_object = type == Type::Object;
  if (old != nullptr && old->size < old->capacity) return;
  Block* const made =
      Block::make(is_object, std::max<std::size_t>(4, old == nullptr ? 0 : std::size_t{2} * old->capacity));
  if (old != nullptr) {
    std::memcpy(static_cast<void*>(made->values()), old->values(), old->value_count() * sizeof(Value));
    made->size = old->size;
    if (is_object && old->has_order()) {
      std::memcpy(made->order(), old->order(), old->size * sizeof(std::uint32_t));
    } else if (is_object && made->has_order()) {
      made->sort();
    }
    Block::free(old);
  }
  set(type, made);
}

Kind Value::kind() const noexcept {
  switch (type()) {
    case Type::Null:
      return Kind::Null;
    case Type::Boolean:
      return Kind::Boolean;
    case Type::Signed:
    case Type::Unsigned:
    case Type::Real:
      return Kind::Number;
    case Type::Short:
    case Type::Long:
      return Kind::String;
    case Type::Array:
      return Kind::Array;
    case Type::Object:
      break;
  }
  return Kind::Object;
}

std::optional<bool> Value::boolean() const noexcept {
  if (type() != Type::Boolean) return std::nullopt;
  return payload<std::uint64_t>() != 0;
}

std::optional<std::int64_t> Value::int64() const noexcept {
  if (type() == Type::Signed) return payload<std::int64_t>();
  if (type() != Type::Real) return std::nullopt;
  const auto real = payload<double>();
  if (!(real >= -0x1p63 && real < 0x1p63) || std::trunc(real) != real) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

std::optional<std::uint64_t> Value::uint64() const noexcept {
  if (type() == Type::Unsigned) return payload<std::uint64_t>();
  if (type() == Type::Signed && payload<std::int64_t>() >= 0) return payload<std::uint64_t>();
  if (type() != Type::Real) return std::nullopt;
  const auto real = payload<double>();
  if (!(real >= 0 && real < 0x1p64) || std::trunc(real) != real) return std::nullopt;
  return static_cast<std::uint64_t>(real);
}

std::optional<double> Value::number() const noexcept {
  if (type() == Type::Real) return payload<double>();
  if (type() == Type::Signed) return static_cast<double>(payload<std::int64_t>());
  if (type() == Type::Unsigned) return static_cast<double>(payload<std::uint64_t>());
  return std::nullopt;
}

std::optional<std::string_view> Value::string() const noexcept {
  if (type() != Type::Short && type() != Type::Long) return std::nullopt;
  return text();
}

std::size_t Value::size() const noexcept { return type() > Type::Long && block() != nullptr ? block()->size : 0; }

std::span<const Value> Value::elements() const noexcept {
  if (type() != Type::Array || block() == nullptr) return {};
  return {block()->values(), block()->size};
}

std::span<Value> Value::elements() noexcept {
  if (type() != Type::Array || block() == nullptr) return {};
  return {block()->values(), block()->size};
}

Value::Members Value::members() const noexcept {
  if (type() != Type::Object || block() == nullptr) return Members(nullptr, 0);
  return Members(block()->values(), block()->size);
}

const Value* Value::find(std::string_view key) const noexcept {
  return type() == Type::Object && block() != nullptr ? block()->find(key) : nullptr;
}

Value* Value::find(std::string_view key) noexcept {
  return type() == Type::Object && block() != nullptr ? block()->find(key) : nullptr;
}

const Value* Value::at(std::string_view pointer) const {
  const Value* value = this;
  while (!pointer.empty() && value != nullptr) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::string_view part = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(part.size());
    if (value->type() == Type::Array) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
      const bool is_index = error == std::errc() && end == part.data() + part.size() &&
                            (part.size() == 1 || part.front() != '0');  // RFC 6901 §4 allows no leading zeros.
      value = is_index && index < value->size() ? &value->elements()[index] : nullptr;
    } else if (part.find('~') == part.npos) {
      value = value->find(part);
    } else {
      std::string key;
      for (std::size_t i = 0; i < part.size(); ++i) {
        const bool is_escape = part[i] == '~' && i + 1 < part.size();
        key += is_escape ? (part[++i] == '1' ? '/' : '~') : part[i];
      }
      value = value->find(key);
    }
  }
  return value;
}

Value& Value::operator[](std::string_view key) {
  if (Value* const found = find(key)) return *found;
  KEEL_EXPECT(type() == Type::Object || type() == Type::Null,
              "a member can be set only in a json::Value that is an object or null");
  Value name(key);  // The name is copied before anything is changed: `key` may point into this same object.
  if (type() == Type::Null) set(Type::Object, static_cast<Block*>(nullptr));
  grow(Type::Object);
  Block* const members = block();
  if (members->has_order()) {
    std::uint32_t* const at = members->lower_bound(name.text());
    std::uint32_t* const end = members->order() + members->size;
    std::memmove(at + 1, at, static_cast<std::size_t>(end - at) * sizeof *at);
    *at = members->size;
  }
  Value* const to = members->values() + members->value_count();
  ::new (to) Value(std::move(name));
  ::new (to + 1) Value();
  ++members->size;
  return to[1];
}

Value& Value::push_back(Value element) {
  KEEL_EXPECT(type() == Type::Array || type() == Type::Null,
              "push_back() can be called only on a json::Value that is a list or null");
  if (type() == Type::Null) set(Type::Array, static_cast<Block*>(nullptr));
  grow(Type::Array);
  Value* const to = block()->values() + block()->size;
  ::new (to) Value(std::move(element));
  ++block()->size;
  return *to;
}

bool Value::erase(std::string_view key) {
  Value* const found = find(key);
  if (found == nullptr) return false;
  Block* const members = block();
  Value* const first = found - 1;
  const auto index = static_cast<std::uint32_t>((first - members->values()) / 2);
  if (members->has_order()) {
    std::uint32_t* to = members->order();
    for (std::uint32_t i = 0; i < members->size; ++i) {
      const std::uint32_t one = members->order()[i];
      if (one != index) *to++ = one > index ? one - 1 : one;
    }
  }
  // `key` may point to the key of this member, so this key is destroyed last.
  const Value key_of_it(std::move(first[0]));
  const Value value_of_it(std::move(first[1]));
  Value* const end = members->values() + members->value_count();
  std::memmove(static_cast<void*>(first), first + 2, static_cast<std::size_t>(end - (first + 2)) * sizeof(Value));
  --members->size;
  return true;
}

Value Value::copy(int depth) const {
  Value made;
  if (type() == Type::Short || type() == Type::Long) {
    made.set_string(text());
  } else if (type() < Type::Long) {
    std::memcpy(made.bytes_, bytes_, sizeof bytes_);
  } else if (block() == nullptr) {
    made.set(type(), static_cast<Block*>(nullptr));
  } else {
    require_depth(depth);
    Block* const from = block();
    Block* const to = Block::make(from->is_object, from->size);
    made.set(type(), to);
    const std::size_t step = std::size_t{1} << from->is_object;
    for (std::size_t i = 0; i < from->value_count(); i += step) {
      Value copied[2] = {from->values()[i].copy(depth + 1), Value()};
      if (step == 2) copied[1] = from->values()[i + 1].copy(depth + 1);
      for (std::size_t j = 0; j < step; ++j) ::new (to->values() + i + j) Value(std::move(copied[j]));
      ++to->size;
    }
    if (from->is_object != 0 && to->has_order()) to->sort();
  }
  return made;
}

bool Value::are_equal(const Value& a, const Value& b, int depth) {
  const Kind kind = a.kind();
  if (kind != b.kind()) return false;
  switch (kind) {
    case Kind::Number: {
      const bool is_real = a.type() == Type::Real;
      if (is_real == (b.type() == Type::Real)) {
        if (is_real) return a.payload<double>() == b.payload<double>();
        return a.type() == b.type() && a.payload<std::uint64_t>() == b.payload<std::uint64_t>();
      }
      const Value& real = is_real ? a : b;
      const Value& whole = is_real ? b : a;
      if (whole.type() == Type::Signed) return compare(real.payload<double>(), whole.payload<std::int64_t>()) == 0;
      return real.uint64() == whole.payload<std::uint64_t>();
    }
    case Kind::String:
      return a.text() == b.text();
    case Kind::Array: {
      if (a.size() != b.size()) return false;
      require_depth(depth);
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (!are_equal(a.elements()[i], b.elements()[i], depth + 1)) return false;
      }
      return true;
    }
    case Kind::Object: {
      if (a.size() != b.size()) return false;
      require_depth(depth);
      for (const auto& [key, value] : a.members()) {
        const Value* const other = b.find(key);
        if (other == nullptr || !are_equal(value, *other, depth + 1)) return false;
      }
      return true;
    }
    default:
      return a.payload<std::uint64_t>() == b.payload<std::uint64_t>();
  }
}

// Reads a Value: collects the elements of a list or the members of an object on a stack, and finally moves the
// collected values into a block that is just large enough.
struct Value::Builder {
  Reader& in;
  std::vector<Value> stack;

  // Reads a value recursively, to the depth that the Reader allows.
  void read(Value& to) {
    switch (in.peek()) {
      case Kind::Null:
        in.null();
        to = Value();
        break;
      case Kind::Boolean:
        to = Value(in.boolean());
        break;
      case Kind::Number:
        read_number(to);
        break;
      case Kind::String:
        to = Value(in.string());
        break;
      case Kind::Array: {
        in.begin_array();
        const std::size_t first = stack.size();
        while (in.next_element()) push();
        take(to, Type::Array, first);
        break;
      }
      case Kind::Object: {
        const Reader::Mark mark = in.mark();
        in.begin_object();
        const std::size_t first = stack.size();
        while (const auto key = in.next_key()) {
          stack.emplace_back(*key);
          push();
        }
        take(to, Type::Object, first);
        if (in.failed() || to.block() == nullptr) break;
        const std::size_t second = to.block()->second();
        if (second != to.size()) refuse(mark, second);
        break;
      }
      case Kind::None:
        in.skip();  // Reports the problem.
    }
  }

  void push() {
    Value value;
    read(value);
    stack.push_back(std::move(value));
  }

  void take(Value& to, Type type, std::size_t first) {
    const std::size_t count = stack.size() - first;
    Block* block = nullptr;
    if (count != 0) {
      const bool is_object = type == Type::Object;
      block = Block::make(is_object, is_object ? count / 2 : count);
      for (std::size_t i = 0; i < count; ++i) ::new (block->values() + i) Value(std::move(stack[first + i]));
      block->size = block->capacity;
      if (is_object && block->has_order()) block->sort();
      stack.resize(first);
    }
    to = Value();
    to.set(type, block);
  }

  // Reports that the member with the index `index` repeats a name; the reported position is the position of the
  // member's value.
  void refuse(const Reader::Mark& mark, std::size_t index) {
    if (!in.rewind(mark)) return;
    in.begin_object();
    for (std::size_t i = 0; i < index; ++i) {
      in.next_key();
      in.skip();
    }
    in.next_key();
    in.peek();
    in.fail_malformed("is given twice");
  }

  void read_number(Value& to) {
    const std::string_view text = in.number_text();
    if (in.failed()) return;
    const char* const end = text.data() + text.size();
    // -0 is stored as a double, because an integer has no negative zero.
    if (text.find_first_of(".eE") == text.npos && text != "-0") {
      std::int64_t number = 0;
      if (std::from_chars(text.data(), end, number).ec == std::errc()) {
        to = Value(number);
        return;
      }
      std::uint64_t large = 0;
      if (std::from_chars(text.data(), end, large).ec == std::errc()) {
        to = Value(large);
        return;
      }
    }
    double real = 0;
    if (std::from_chars(text.data(), end, real).ec != std::errc() || !std::isfinite(real)) {
      in.fail("number out of range", nullptr, "format");
      return;
    }
    to = Value(real);
  }
};

void Value::read(Reader& in) {
  Builder builder{in, {}};
  builder.read(*this);
}

void Value::write(Writer& out, int depth) const {
  switch (type()) {
    case Type::Null:
      out.null();
      break;
    case Type::Boolean:
      out.boolean(payload<std::uint64_t>() != 0);
      break;
    case Type::Signed:
      out.integer(payload<std::int64_t>());
      break;
    case Type::Unsigned:
      out.unsigned_integer(payload<std::uint64_t>());
      break;
    case Type::Real:
      out.number(payload<double>());
      break;
    case Type::Short:
    case Type::Long:
      out.string(text());
      break;
    case Type::Array:
      require_depth(depth);
      out.begin_array();
      for (const Value& element : elements()) element.write(out, depth + 1);
      out.end_array();
      break;
    case Type::Object:
      require_depth(depth);
      out.begin_object();
      for (const auto& [key, value] : members()) {
        out.key(key);
        value.write(out, depth + 1);
      }
      out.end_object();
  }
}

Result<const Value*> Value::expect(std::string_view pointer) const {
  if (const Value* const found = at(pointer)) return found;
  return Error::text(Code::InvalidArgument, std::string(pointer) + " is missing");
}

namespace {

Error unexpected_kind(std::string_view pointer, std::string_view expected) {
  std::string text(pointer);
  if (!text.empty()) text += ": ";
  return Error::text(Code::InvalidArgument, text.append(expected));
}
// Makes the error for a value that is not an integer within the range.
Error unexpected_number(std::string_view pointer, const Value& value, const IntegerRange& range) {
  const auto real = value.number();
  return unexpected_kind(pointer, real && std::trunc(*real) == *real ? range.expected : "expected an integer");
}

}  // namespace

Result<bool> Value::get_boolean(std::string_view pointer) const {
  KEEL_TRY(const Value* const value, expect(pointer));
  if (const auto found = value->boolean()) return *found;
  return unexpected_kind(pointer, "expected true or false");
}

Result<double> Value::get_number(std::string_view pointer) const {
  KEEL_TRY(const Value* const value, expect(pointer));
  if (const auto found = value->number()) return *found;
  return unexpected_kind(pointer, "expected a number");
}

Result<std::int64_t> Value::get_int64(std::string_view pointer, const IntegerRange& range) const {
  KEEL_TRY(const Value* const value, expect(pointer));
  const auto found = value->int64();
  if (found && range.contains(*found)) return *found;
  return unexpected_number(pointer, *value, range);
}

Result<std::uint64_t> Value::get_uint64(std::string_view pointer, const IntegerRange& range) const {
  KEEL_TRY(const Value* const value, expect(pointer));
  const auto found = value->uint64();
  if (found && *found <= range.most) return *found;
  return unexpected_number(pointer, *value, range);
}

Result<std::string_view> Value::get_string(std::string_view pointer) const {
  KEEL_TRY(const Value* const value, expect(pointer));
  if (const auto found = value->string()) return *found;
  return unexpected_kind(pointer, "expected a string");
}

}  // namespace keel::json
