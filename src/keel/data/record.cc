#include "keel/data/record.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <system_error>

#include "keel/data/internal/record_storage.h"

namespace keel {
namespace {

using Kind = Record::Kind;

bool is_signed(Kind kind) noexcept { return kind >= Kind::Int8 && kind <= Kind::Int64; }
bool is_unsigned(Kind kind) noexcept { return kind >= Kind::Uint8 && kind <= Kind::Uint64; }
bool is_real(Kind kind) noexcept { return kind == Kind::Float || kind == Kind::Double; }
bool is_text(Kind kind) noexcept { return kind == Kind::String || kind == Kind::Bytes; }
bool is_container(Kind kind) noexcept { return kind == Kind::Array || kind == Kind::Record; }

Error deeper(std::string_view path) {
  return Error::text(Code::InvalidArgument, std::string(path) + ": nested more than 64 levels deep");
}
Error no_path(std::string_view path) {
  return Error::text(Code::InvalidArgument, "\"" + std::string(path) + "\" is not a path such as \"a.b[2]\"");
}

// Splits a path into its steps.
class Path {
 public:
  explicit Path(std::string_view path) noexcept : whole_(path), rest_(path) {}

  bool has_ended() const noexcept { return rest_.empty() && !is_first_; }
  // Moves to the next step; returns false if that step is not valid.
  bool next() {
    is_index_ = !rest_.empty() && rest_.front() == '[';
    const bool is_right = is_index_ ? next_index() : next_name();
    is_first_ = false;
    return is_right;
  }
  bool is_index() const noexcept { return is_index_; }
  std::string_view name() const noexcept { return name_; }
  std::size_t index() const noexcept { return index_; }
  // The part of the path before the current position, for messages.
  std::string_view passed() const noexcept { return whole_.substr(0, whole_.size() - rest_.size()); }

 private:
  bool next_index() {
    const std::size_t end = rest_.find(']');
    if (is_first_ || end == rest_.npos) return false;
    const char* const last = rest_.data() + end;
    const auto [at, error] = std::from_chars(rest_.data() + 1, last, index_);
    if (error != std::errc() || at != last) return false;
    rest_.remove_prefix(end + 1);
    return rest_.empty() || rest_.front() == '[' || rest_.front() == '.';
  }
  bool next_name() {
    if (!is_first_) {
      if (rest_.empty() || rest_.front() != '.') return false;
      rest_.remove_prefix(1);
    }
    std::size_t end = 0;
    bool is_plain = true;
    for (; end < rest_.size() && rest_[end] != '.' && rest_[end] != '['; ++end) {
      if (rest_[end] != '\\') continue;
      is_plain = false;
      if (++end == rest_.size()) return false;
    }
    name_ = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (is_plain) return !name_.empty();
    unescaped_.clear();
    for (std::size_t i = 0; i < name_.size(); ++i) unescaped_ += name_[i] == '\\' ? name_[++i] : name_[i];
    name_ = unescaped_;
    return true;
  }

  std::string_view whole_;
  std::string_view rest_;
  std::string_view name_;
  std::string unescaped_;
  std::size_t index_ = 0;
  bool is_index_ = false;
  bool is_first_ = true;
};

bool is_plain(std::string_view name) noexcept { return !name.empty() && name.find_first_of(".[\\") == name.npos; }

}  // namespace

std::string_view Record::name_of(Kind kind) noexcept {
  constexpr std::string_view names[] = {"null",   "bool",   "int8",   "int16",  "int32", "int64",
                                        "uint8",  "uint16", "uint32", "uint64", "float", "double",
                                        "string", "bytes",  "time",   "uuid",   "array", "record"};
  return names[static_cast<std::size_t>(kind)];
}

// Memory.

Record::Block* Record::Storage::grow(Block* block, bool is_record, Arena* arena) {
  if (block == nullptr) return make(arena, is_record, 4);
  if (block->size < block->capacity) return block;
  Block* const made = make(arena, is_record, std::size_t{2} * std::max<std::uint32_t>(block->capacity, 2));
  std::memcpy(static_cast<void*>(made->values()), block->values(), block->value_count() * sizeof(Value));
  made->size = block->size;
  made->is_sorted = block->is_sorted;
  if (block->has_order()) {
    std::memcpy(made->order(), block->order(), block->size * sizeof(std::uint32_t));
  } else if (made->has_order()) {
    made->sort();
  }
  free(block, arena);
  return made;
}

void Record::Storage::release(Value& value, Arena* arena) noexcept {
  if (arena != nullptr) return;
  if (is_container(value.kind())) {
    if (value.block() != nullptr) release(value.block(), arena);
  } else if (value.bytes_[1] == Value::is_long) {
    ::operator delete(value.payload<char*>());
  }
}
void Record::Storage::release(Block* block, Arena* arena) noexcept {
  if (arena != nullptr || block == nullptr) return;
  for (std::size_t i = 0; i < block->value_count(); ++i) release(block->values()[i], arena);
  free(block, arena);
}

bool Record::Storage::copy(Value& to, const Value& from, Arena* arena, int left) {
  if (!is_container(from.kind())) {
    if (from.bytes_[1] == Value::is_long) {
      set_text(to, from.kind(), from.text(), arena);
    } else {
      std::memcpy(to.bytes_, from.bytes_, sizeof to.bytes_);
    }
    return true;
  }
  if (left == 0) return false;
  Block* block = nullptr;
  if (from.block() != nullptr) {
    block = copy(from.block(), arena, left);
    if (block == nullptr) return false;
  }
  to.set(from.kind(), block);
  return true;
}
// Returns null if the value is nested too deeply; `left` is the number of levels allowed, counting the container and
// the value itself.
Record::Block* Record::Storage::copy(const Block* from, Arena* arena, int left) {
  Block* const made = make(arena, from->is_record, from->size);
  for (std::size_t i = 0; i < from->value_count(); ++i) {
    Value* const to = ::new (made->values() + i) Value();
    made->size = static_cast<std::uint32_t>(from->is_record ? i / 2 + i % 2 : i + 1);
    if (copy(*to, from->values()[i], arena, left - 1)) continue;
    release(made, arena);
    return nullptr;
  }
  made->is_sorted = from->is_sorted;
  if (made->has_order()) made->sort();
  return made;
}

bool Record::Storage::make_value(Value& to, const Input& from, Arena* arena, int left) {
  switch (from.what_) {
    case Input::What::Scalar:
      to = from.scalar_;
      return true;
    case Input::What::Text:
      set_text(to, Kind::String, from.text_, arena);
      return true;
    case Input::What::Bytes:
      set_text(to, Kind::Bytes, from.text_, arena);
      return true;
    case Input::What::Value:
      return copy(to, *from.value_, arena, left);
    case Input::What::Record: {
      Value whole;
      whole.set(Kind::Record, from.record_->fields_);
      return copy(to, whole, arena, left);
    }
    case Input::What::List:
      break;
  }
  if (left == 0) return false;
  Block* const block = make(arena, false, from.list_.size());
  for (const Input& one : from.list_) {
    Value* const element = ::new (block->values() + block->size++) Value();
    if (make_value(*element, one, arena, left - 1)) continue;
    release(block, arena);
    return false;
  }
  set_block(to, block);
  return true;
}

Record::Value& Record::Storage::push_back(Block*& block, Arena* arena) {
  block = grow(block, false, arena);
  return *::new (block->values() + block->size++) Value();
}

Record::Value& Record::Storage::field(Block*& block, std::string_view name, Arena* arena) {
  if (block != nullptr) {
    if (Value* const found = block->find(name)) return *found;
  }
  Value key;
  set_text(key, Kind::String, name, arena);
  block = grow(block, true, arena);
  name = key.text();  // `name` may have pointed into the old block.
  if (block->size != 0 && block->is_sorted) block->is_sorted = Block::is_before(block->name(block->size - 1), name);
  if (block->has_order()) {
    std::uint32_t* const at = block->lower_bound(name);
    std::uint32_t* const end = block->order() + block->size;
    std::memmove(at + 1, at, static_cast<std::size_t>(end - at) * sizeof *at);
    *at = block->size;
  }
  Value* const to = block->values() + block->value_count();
  ::new (to) Value(key);
  ::new (to + 1) Value();
  ++block->size;
  return to[1];
}

void Record::Storage::erase(Block* block, std::size_t index, Arena* arena) noexcept {
  if (block->has_order()) {
    std::uint32_t* to = block->order();
    for (std::uint32_t i = 0; i < block->size; ++i) {
      const std::uint32_t one = block->order()[i];
      if (one != index) *to++ = one > index ? one - 1 : one;
    }
  }
  const std::size_t step = block->is_record ? 2 : 1;
  Value* const first = block->values() + step * index;
  for (std::size_t i = 0; i < step; ++i) release(first[i], arena);
  Value* const end = block->values() + block->value_count();
  std::memmove(static_cast<void*>(first), first + step, static_cast<std::size_t>(end - (first + step)) * sizeof(Value));
  --block->size;
}

// The result is nested no deeper than the more deeply nested of the two blocks.
void Record::Storage::merge(Block*& to, const Block* from, Arena* arena) {
  for (std::size_t i = 0; from != nullptr && i < from->size; ++i) {
    const Value& value = from->values()[2 * i + 1];
    Value* const old = to != nullptr ? to->find(from->name(i)) : nullptr;
    if (old != nullptr && old->kind() == Kind::Record && value.kind() == Kind::Record) {
      Block* nested = old->block();
      merge(nested, value.block(), arena);
      old->set(Kind::Record, nested);
      continue;
    }
    Value copied;
    copy(copied, value, arena, depth_max);
    Value& place = field(to, from->name(i), arena);
    release(place, arena);
    place = copied;
  }
}

void Record::release() noexcept { Storage::release(fields_, arena_); }

Record::Record(const Record& other) {
  if (other.fields_ != nullptr) fields_ = Storage::copy(other.fields_, nullptr, depth_max);
}
Record::Record(const Record& other, Arena& arena) : arena_(&arena) {
  if (other.fields_ != nullptr) fields_ = Storage::copy(other.fields_, arena_, depth_max);
}
Record::Record(Record&& other) noexcept : fields_(std::exchange(other.fields_, nullptr)), arena_(other.arena_) {}
Record& Record::operator=(const Record& other) {
  if (this == &other) return *this;
  Block* const made = other.fields_ != nullptr ? Storage::copy(other.fields_, arena_, depth_max) : nullptr;
  release();
  fields_ = made;
  return *this;
}
Record& Record::operator=(Record&& other) {
  if (this == &other) return *this;
  if (arena_ != other.arena_) return *this = std::as_const(other);
  release();
  fields_ = std::exchange(other.fields_, nullptr);
  return *this;
}
void Record::clear() noexcept {
  release();
  fields_ = nullptr;
}

// Lookup.

std::size_t Record::size() const noexcept { return fields_ != nullptr ? fields_->size : 0; }
Record::Iterator Record::begin() const noexcept { return Iterator(fields_ != nullptr ? fields_->values() : nullptr); }
Record::Iterator Record::end() const noexcept {
  return Iterator(fields_ != nullptr ? fields_->values() + fields_->value_count() : nullptr);
}
const Record::Value* Record::find(std::string_view name) const noexcept {
  return fields_ != nullptr ? std::as_const(*fields_).find(name) : nullptr;
}
const Record::Value* Record::at(std::string_view path) const { return Value::resolve(fields_, nullptr, path); }

std::size_t Record::Value::size() const noexcept {
  return is_container(kind()) && block() != nullptr ? block()->size : 0;
}
std::span<const Record::Value> Record::Value::elements() const noexcept {
  if (kind() != Kind::Array || block() == nullptr) return {};
  return {block()->values(), block()->size};
}
Record::Iterator Record::Value::begin() const noexcept {
  return Iterator(kind() == Kind::Record && block() != nullptr ? block()->values() : nullptr);
}
Record::Iterator Record::Value::end() const noexcept {
  return Iterator(kind() == Kind::Record && block() != nullptr ? block()->values() + block()->value_count() : nullptr);
}
const Record::Value* Record::Value::find(std::string_view name) const noexcept {
  return kind() == Kind::Record && block() != nullptr ? std::as_const(*block()).find(name) : nullptr;
}
const Record::Value* Record::Value::at(std::string_view path) const {
  return path.empty() ? this : resolve(nullptr, this, path);
}

// The value comes from `fields` if that is set, otherwise from `whole`.
const Record::Value* Record::Value::resolve(const Block* fields, const Value* whole, std::string_view path) {
  if (is_plain(path)) {
    if (whole == nullptr) return fields != nullptr ? fields->find(path) : nullptr;
    return whole->find(path);
  }
  Path steps(path);
  const Value* at = whole;
  bool is_first = true;
  while (!steps.has_ended()) {
    if (!steps.next()) return nullptr;
    if (is_first && whole == nullptr) {
      at = fields != nullptr && !steps.is_index() ? fields->find(steps.name()) : nullptr;
    } else if (steps.is_index()) {
      at = at->kind() == Kind::Array && steps.index() < at->size() ? &at->elements()[steps.index()] : nullptr;
    } else {
      at = at->find(steps.name());
    }
    if (at == nullptr) return nullptr;
    is_first = false;
  }
  return at;
}

Result<const Record::Value*> Record::Value::expect(const Block* fields, const Value* whole, std::string_view path) {
  if (whole != nullptr && path.empty()) return whole;
  if (const Value* const found = resolve(fields, whole, path)) return found;
  Path steps(path);
  while (!steps.has_ended()) {
    if (!steps.next()) return no_path(path);
  }
  return Error::text(Code::InvalidArgument, std::string(path) + " is missing");
}

namespace {

std::string article(std::string_view name) {
  // When spoken, the names "uint8" and "uuid" begin with a consonant, so they get "a", not "an".
  const bool has_vowel = name.starts_with('i') || name.starts_with('a');
  return (name == "bytes" || name == "null" ? "" : has_vowel ? "an " : "a ") + std::string(name);
}
std::string with_path(std::string_view path) { return path.empty() ? std::string() : std::string(path) + ": "; }

Error wrong_kind(std::string_view path, Kind is, std::string_view wanted) {
  return Error::text(Code::InvalidArgument,
                     with_path(path) + "is " + article(Record::name_of(is)) + ", not " + article(wanted));
}
Error does_not_fit(std::string_view path, std::string_view number, Kind wanted) {
  return Error::text(Code::InvalidArgument,
                     with_path(path).append(number) + " does not fit into " + article(Record::name_of(wanted)));
}
std::string number_text(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

}  // namespace

Result<bool> Record::Value::get_boolean(std::string_view path) const {
  if (kind() != Kind::Boolean) return wrong_kind(path, kind(), "bool");
  return payload<std::uint64_t>() != 0;
}

Result<std::int64_t> Record::Value::get_int64(std::string_view path, Kind wanted, std::int64_t least,
                                              std::int64_t most) const {
  if (is_signed(kind())) {
    const auto number = payload<std::int64_t>();
    if (number >= least && number <= most) return number;
    return does_not_fit(path, std::to_string(number), wanted);
  }
  if (is_unsigned(kind())) {
    const auto number = payload<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(most)) return static_cast<std::int64_t>(number);
    return does_not_fit(path, std::to_string(number), wanted);
  }
  if (!is_real(kind())) return wrong_kind(path, kind(), name_of(wanted));
  const auto real = payload<double>();
  if (real == std::trunc(real) && real >= -0x1p63 && real < 0x1p63) {
    const auto number = static_cast<std::int64_t>(real);
    if (number >= least && number <= most) return number;
  }
  return does_not_fit(path, number_text(real), wanted);
}

Result<std::uint64_t> Record::Value::get_uint64(std::string_view path, Kind wanted, std::uint64_t most) const {
  if (is_signed(kind()) || is_unsigned(kind())) {
    const auto number = payload<std::uint64_t>();
    const bool is_negative = is_signed(kind()) && payload<std::int64_t>() < 0;
    if (!is_negative && number <= most) return number;
    return does_not_fit(path, is_negative ? std::to_string(payload<std::int64_t>()) : std::to_string(number), wanted);
  }
  if (!is_real(kind())) return wrong_kind(path, kind(), name_of(wanted));
  const auto real = payload<double>();
  if (real == std::trunc(real) && real >= 0 && real < 0x1p64 && static_cast<std::uint64_t>(real) <= most) {
    return static_cast<std::uint64_t>(real);
  }
  return does_not_fit(path, number_text(real), wanted);
}

Result<double> Record::Value::get_number(std::string_view path, Kind wanted) const {
  double number = 0;
  bool is_exact = true;
  if (is_signed(kind())) {
    number = static_cast<double>(payload<std::int64_t>());
    is_exact = number < 0x1p63 && static_cast<std::int64_t>(number) == payload<std::int64_t>();
  } else if (is_unsigned(kind())) {
    number = static_cast<double>(payload<std::uint64_t>());
    is_exact = number < 0x1p64 && static_cast<std::uint64_t>(number) == payload<std::uint64_t>();
  } else if (is_real(kind())) {
    number = payload<double>();
  } else {
    return wrong_kind(path, kind(), name_of(wanted));
  }
  if (wanted == Kind::Float && !std::isnan(number)) {
    is_exact = is_exact && (std::isinf(number) || (std::abs(number) <= double{std::numeric_limits<float>::max()} &&
                                                   static_cast<double>(static_cast<float>(number)) == number));
  }
  if (is_exact) return number;
  if (is_signed(kind())) return does_not_fit(path, std::to_string(payload<std::int64_t>()), wanted);
  if (is_unsigned(kind())) return does_not_fit(path, std::to_string(payload<std::uint64_t>()), wanted);
  return does_not_fit(path, number_text(number), wanted);
}

Result<std::string_view> Record::Value::get_string(std::string_view path) const {
  if (kind() != Kind::String) return wrong_kind(path, kind(), "string");
  return text();
}
Result<std::span<const std::byte>> Record::Value::get_bytes(std::string_view path) const {
  if (kind() != Kind::Bytes) return wrong_kind(path, kind(), "bytes");
  return std::span(reinterpret_cast<const std::byte*>(text().data()), text().size());
}
Result<Timestamp> Record::Value::get_time(std::string_view path) const {
  if (kind() == Kind::Time) return payload<Timestamp>();
  if (kind() != Kind::String) return wrong_kind(path, kind(), "time");
  const Result<Timestamp> time = Timestamp::parse(text());
  if (time) return *time;
  return Error::text(Code::InvalidArgument, with_path(path) + Timestamp::expected);
}
Result<Uuid> Record::Value::get_uuid(std::string_view path) const {
  using Id = keel::Uuid;
  if (kind() == Kind::Uuid) return payload<Id>();
  if (kind() == Kind::Bytes && text().size() == 16) {
    std::array<std::byte, 16> bytes;
    std::memcpy(bytes.data(), text().data(), bytes.size());
    return Id(bytes);
  }
  if (kind() != Kind::String) return wrong_kind(path, kind(), "uuid");
  const Result<Id> id = Id::parse(text());
  if (id) return *id;
  return Error::text(Code::InvalidArgument, with_path(path) + Id::expected);
}

// Changes.

Result<> Record::set(std::string_view path, const Input& value) {
  Path steps(path);
  if (is_plain(path)) {
    Value made;
    if (!Storage::make_value(made, value, arena_, depth_max - 1)) return deeper(path);
    Value& place = Storage::field(fields_, path, arena_);
    Storage::release(place, arena_);
    place = made;
    return {};
  }
  // First checks whether the call can succeed, so that a failure changes nothing.
  const Value* there = nullptr;
  bool is_there = true;  // Whether the whole path up to this step exists.
  int depth = 0;
  std::string_view before;
  for (; !steps.has_ended(); ++depth) {
    if (!steps.next() || (depth == 0 && steps.is_index())) return no_path(path);
    if (depth == 0) {
      there = find(steps.name());
    } else if (is_there && steps.is_index()) {
      if (there->kind() != Kind::Array) return wrong_kind(before, there->kind(), "array");
      if (steps.index() > there->size()) {
        return Error::text(Code::InvalidArgument, std::string(steps.passed()) + " is missing: " + std::string(before) +
                                                      " has " + std::to_string(there->size()) +
                                                      (there->size() == 1 ? " element" : " elements"));
      }
      there = steps.index() < there->size() ? &there->elements()[steps.index()] : nullptr;
    } else if (is_there) {
      if (there->kind() != Kind::Record) return wrong_kind(before, there->kind(), "record");
      there = there->find(steps.name());
    } else if (steps.is_index() && steps.index() != 0) {
      return Error::text(Code::InvalidArgument, std::string(before) + " is missing");
    }
    is_there = is_there && there != nullptr;
    before = steps.passed();
  }
  if (depth > depth_max) return deeper(path);
  Value made;
  if (!Storage::make_value(made, value, arena_, depth_max - depth)) return deeper(path);
  Path again(path);
  again.next();
  Value* place = &Storage::field(fields_, again.name(), arena_);
  while (!again.has_ended()) {
    again.next();
    Block* block = is_container(place->kind()) ? place->block() : nullptr;
    Value* next = nullptr;
    if (!again.is_index()) {
      next = &Storage::field(block, again.name(), arena_);
    } else if (block != nullptr && again.index() < block->size) {
      next = block->values() + again.index();
    } else {
      next = &Storage::push_back(block, arena_);
    }
    place->set(again.is_index() ? Kind::Array : Kind::Record, block);
    place = next;
  }
  Storage::release(*place, arena_);
  *place = made;
  return {};
}

Result<> Record::append(std::string_view path, const Input& value) {
  const Value* const there = at(path);
  if (there != nullptr && there->kind() != Kind::Array) return wrong_kind(path, there->kind(), "array");
  return set(std::string(path) + "[" + std::to_string(there != nullptr ? there->size() : 0) + "]", value);
}

bool Record::remove(std::string_view path) {
  const Value* const there = at(path);
  if (there == nullptr) return false;
  Path steps(path);
  std::size_t length = 0;  // The length of the part of the path that leads to the container.
  while (!steps.has_ended()) {
    length = steps.passed().size();
    steps.next();
  }
  Block* const block = length == 0 ? fields_ : at(path.substr(0, length))->block();
  const auto place = static_cast<std::size_t>(there - block->values());
  Storage::erase(block, block->is_record ? place / 2 : place, arena_);
  return true;
}

void Record::merge(const Record& other) {
  if (this != &other) Storage::merge(fields_, other.fields_, arena_);
}

bool Record::Storage::are_equal(const Block* a, const Block* b) {
  const std::size_t size = a != nullptr ? a->size : 0;
  if (size != (b != nullptr ? b->size : 0)) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const bool is_record = a->is_record;
    const Value* const other = is_record ? b->find(a->name(i)) : b->values() + i;
    if (other == nullptr || !Value::are_equal(a->values()[is_record ? 2 * i + 1 : i], *other)) return false;
  }
  return true;
}

bool Record::Value::are_equal(const Value& a, const Value& b) {
  if (is_container(a.kind())) return a.kind() == b.kind() && Storage::are_equal(a.block(), b.block());
  const auto is_number = [](Kind kind) { return kind >= Kind::Int8 && kind <= Kind::Double; };
  if (!is_number(a.kind()) || !is_number(b.kind())) {
    if (a.kind() != b.kind()) return false;
    if (a.kind() == Kind::Time) return a.payload<Timestamp>() == b.payload<Timestamp>();
    return is_text(a.kind()) ? a.text() == b.text() : std::memcmp(a.bytes_, b.bytes_, sizeof a.bytes_) == 0;
  }
  if (is_real(a.kind()) && is_real(b.kind())) return a.payload<double>() == b.payload<double>();
  if (is_real(a.kind())) return are_equal(b, a);
  if (is_real(b.kind())) {  // `a` is an integer, so `real` can be equal to `a` only if `real` is whole.
    const auto real = b.payload<double>();
    if (real != std::trunc(real) || !(real >= -0x1p63 && real < 0x1p64)) return false;
    if (is_signed(a.kind())) return real < 0x1p63 && static_cast<std::int64_t>(real) == a.payload<std::int64_t>();
    return real >= 0 && static_cast<std::uint64_t>(real) == a.payload<std::uint64_t>();
  }
  const bool is_a_negative = is_signed(a.kind()) && a.payload<std::int64_t>() < 0;
  const bool is_b_negative = is_signed(b.kind()) && b.payload<std::int64_t>() < 0;
  return is_a_negative == is_b_negative && a.payload<std::uint64_t>() == b.payload<std::uint64_t>();
}

bool operator==(const Record& a, const Record& b) { return Record::Storage::are_equal(a.fields_, b.fields_); }

}  // namespace keel
