#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>

#include "keel/data/date.h"
#include "keel/data/decimal.h"
#include "keel/data/internal/json_cursor.h"
#include "keel/data/internal/json_pen.h"
#include "keel/data/internal/key_order.h"
#include "keel/data/internal/object_table.h"
#include "keel/data/json_value.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::json::internal {
namespace {

template <class T>
bool are_all_different(std::vector<T> list) {
  std::sort(list.begin(), list.end());
  return std::adjacent_find(list.begin(), list.end()) == list.end();
}

constexpr Presence how = 3;  // The bits that say how a member holds its value.
constexpr Presence directed = of::read_only | of::write_only;

// Whether a required member may be absent from the text that is being read.
bool is_excused(const Reader& in, Presence presence) noexcept {
  return (presence & (in.is_response() ? of::write_only : of::read_only)) != 0;
}
bool is_omitted(const Writer& out, Presence presence) noexcept {
  return ((presence & of::read_only) != 0 && out.omit() == Writer::Omit::ReadOnly) ||
         ((presence & of::write_only) != 0 && out.omit() == Writer::Omit::WriteOnly);
}

Form form_of(Held held) noexcept {
  static constexpr auto forms = [] {
    // Other. The array has an element for each Held, because Name is the last value of Held.
    std::array<Form, static_cast<std::size_t>(Held::Name) + 1> made{};
    const auto set = [&](Held one, Form form) { made[static_cast<std::size_t>(one)] = form; };
    set(Held::Boolean, Form::Boolean);
    set(Held::Int32, Form::Int32);
    set(Held::Uint32, Form::Uint32);
    set(Held::Int64, Form::Int64);
    set(Held::Uint64, Form::Uint64);
    set(Held::Double, Form::Double);
    set(Held::String, Form::String);
    return made;
  }();
  static_assert(forms[static_cast<std::size_t>(Held::Other)] == Form::Other && Form() == Form::Other);
  return forms[static_cast<std::size_t>(held)];
}

// Calls f(static_cast<T*>(nullptr)) for the type T of the value that a member holds.
template <class F>
[[gnu::always_inline]] inline auto with_type(Held held, F f) {
  switch (held) {
    case Held::Boolean:
      return f(static_cast<bool*>(nullptr));
    case Held::Int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case Held::Uint32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case Held::Int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case Held::Uint64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case Held::Double:
      return f(static_cast<double*>(nullptr));
    case Held::Float:
      return f(static_cast<float*>(nullptr));
    case Held::Uuid:
      return f(static_cast<Uuid*>(nullptr));
    case Held::Timestamp:
      return f(static_cast<Timestamp*>(nullptr));
    case Held::Date:
      return f(static_cast<Date*>(nullptr));
    case Held::Bytes:
      return f(static_cast<std::vector<std::byte>*>(nullptr));
    case Held::Strings:
      return f(static_cast<std::vector<std::string>*>(nullptr));
    case Held::Value:
      return f(static_cast<Value*>(nullptr));
    default:
      return f(static_cast<std::string*>(nullptr));
  }
}

// The type of the enum is not known here. A std::optional of an enum consists of the enum's byte and a flag; a Patch
// also has a flag for null. The code accesses these objects as unsigned char, which is allowed for any object.
// object_table_test.cc checks this layout for both types.
enum class OneByte : std::uint8_t {};
static_assert(sizeof(std::optional<OneByte>) == 2 && sizeof(Patch<OneByte>) == 3);
constexpr int is_there = 1;
constexpr int is_null = 2;

// Creates the value in an optional member, and returns its address.
void* engage(Held held, Presence presence, void* member) {
  if (held == Held::Name) {
    auto* const bytes = static_cast<unsigned char*>(member);
    bytes[is_there] = 1;
    if ((presence & how) == of::patch) bytes[is_null] = 0;
    return member;
  }
  return with_type(held, [&]<class T>(T*) -> void* {
    if ((presence & how) == of::patch) return &static_cast<Patch<T>*>(member)->emplace();
    return &static_cast<std::optional<T>*>(member)->emplace();
  });
}
void set_null(Held held, Presence presence, void* member) {
  if (held == Held::Name) {
    auto* const bytes = static_cast<unsigned char*>(member);
    bytes[is_there] = 0;
    if ((presence & how) == of::patch) bytes[is_null] = 1;
    return;
  }
  with_type(held, [&]<class T>(T*) {
    if ((presence & how) == of::patch) {
      static_cast<Patch<T>*>(member)->set_null();
    } else {
      static_cast<std::optional<T>*>(member)->reset();
    }
  });
}
struct Found {
  const void* value;  // Null if the member has no value.
  bool is_absent;     // Whether the member is left out.
};
Found value_in(Held held, Presence presence, const void* member) {
  if (held == Held::Name) {
    const auto* const bytes = static_cast<const unsigned char*>(member);
    if (bytes[is_there] != 0) return {member, false};
    return {nullptr, (presence & how) == of::optional || ((presence & how) == of::patch && bytes[is_null] == 0)};
  }
  return with_type(held, [&]<class T>(T*) -> Found {
    if ((presence & how) == of::patch) {
      const Patch<T>& value = *static_cast<const Patch<T>*>(member);
      return {value.has_value() ? &*value : nullptr, value.is_absent()};
    }
    const std::optional<T>& value = *static_cast<const std::optional<T>*>(member);
    return {value ? &*value : nullptr, !value && (presence & how) == of::optional};
  });
}

void read_held(Reader& in, Held held, void* value, Violations& wrong) {
  with_type(held, [&]<class T>(T*) { read_value(in, *static_cast<T*>(value), wrong); });
}
void write_held(Writer& out, Held held, const void* value) {
  with_type(held, [&]<class T>(T*) { write_value(out, *static_cast<const T*>(value)); });
}

void read_name(Reader& in, const of::Rule& rule, void* value, Violations& wrong) {
  const std::string_view given = in.string();
  const std::string_view* const end = rule.names + rule.count;
  const std::string_view* const found = std::find(rule.names, end, given);
  if (found != end) {
    *static_cast<unsigned char*>(value) = static_cast<unsigned char>(found - rule.names);
  } else if (!in.failed()) {
    wrong_name(in, {rule.names, end}, wrong);
  }
}
void write_name(Writer& out, const of::Rule& rule, const void* value) {
  const unsigned char number = *static_cast<const unsigned char*>(value);
  if (number >= rule.count) throw_nameless(number);
  out.string(rule.names[number]);
}

// The keyword of JSON Schema for a value below or above its limits.
const char* keyword_of(Held held, bool is_below) noexcept {
  if (held == Held::String) return is_below ? "minLength" : "maxLength";
  if (held == Held::Strings || held == Held::Bytes) return is_below ? "minItems" : "maxItems";
  return is_below ? "minimum" : "maximum";
}
// Empty if the value is valid.
Complaint complaint_of(const of::Limits& limits, Held held, const void* value) noexcept {
  const auto least = static_cast<std::size_t>(limits.least);
  const auto most = static_cast<std::size_t>(limits.most);
  return with_type(held, [&]<class T>(T*) -> Complaint {
    const T& given = *static_cast<const T*>(value);
    bool is_below = false;
    bool is_above = false;
    if constexpr (std::same_as<T, std::string>) {
      if (has_length(given, least, most)) return {};
      is_below = !has_length(given, least, SIZE_MAX);
      is_above = !is_below;
    } else if constexpr (Integer<T>) {
      is_below = limits.least != of::no_least && std::cmp_less(given, limits.least);
      is_above = limits.most != of::no_most && std::cmp_greater(given, limits.most);
    } else if constexpr (std::floating_point<T>) {
      is_below = limits.least != of::no_least && !(given >= static_cast<T>(limits.least));
      is_above = limits.most != of::no_most && !(given <= static_cast<T>(limits.most));
    } else if constexpr (requires { given.size(); }) {
      is_below = given.size() < least;
      is_above = given.size() > most;
    }
    return is_below || is_above ? Complaint{limits.message, keyword_of(held, is_below)} : Complaint();
  });
}
// Whether a text of at most 16 bytes is ASCII.
[[gnu::always_inline]] inline bool is_short_ascii(std::string_view text) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  const char* const end = text.data() + text.size();
  if (text.size() > 16) return false;
  if (text.size() >= 8)
    return ((word_at<std::uint64_t>(text.data()) | word_at<std::uint64_t>(end - 8)) & high_bits) == 0;
  if (text.size() >= 4)
    return ((word_at<std::uint32_t>(text.data()) | word_at<std::uint32_t>(end - 4)) & high_bits) == 0;
  unsigned bytes = 0;
  for (const char c : text) bytes |= static_cast<unsigned char>(c);
  return bytes < 0x80;
}
// A quick check of the common forms; if it returns false, the value may still be valid.
[[gnu::always_inline]] inline bool is_surely_within(const of::Limits& limits, Form form, const void* value) noexcept {
  switch (form) {
    case Form::String: {
      const auto& text = *static_cast<const std::string*>(value);
      const auto size = static_cast<std::int64_t>(text.size());
      if (size > limits.most || size < limits.least) return false;
      return (size + 3) / 4 >= limits.least || is_short_ascii(text);  // A character has one to four bytes in UTF-8.
    }
    case Form::Int32: {
      const auto number = *static_cast<const std::int32_t*>(value);
      return limits.least <= number && number <= limits.most;
    }
    case Form::Int64: {
      const auto number = *static_cast<const std::int64_t*>(value);
      return limits.least <= number && number <= limits.most;
    }
    default:
      return false;
  }
}
[[gnu::cold]] void tell(Reader& in, Held held, Complaint why, Violations& wrong) {
  if (held == Held::Strings) {
    refuse_left(in, {}, why, wrong);
  } else {
    in.fail(why.message, nullptr, why.keyword);
  }
}

// By means of the Reader, reads values that a Cursor cannot read.
void read_slowly(Reader& in, const ObjectMember& member, void* at, Violations& wrong) {
  if (member.held == Held::Other) return member.read(in, at, wrong);
  const Presence presence = member.presence & how;
  if (presence >= of::nullable && in.try_null()) return set_null(member.held, member.presence, at);
  void* const value = presence == of::present ? at : engage(member.held, member.presence, at);
  if (member.held == Held::Name) return read_name(in, member.rule, value, wrong);
  read_held(in, member.held, value, wrong);
  if (in.failed() || member.rule.limits == nullptr) return;
  if (const Complaint why = complaint_of(*member.rule.limits, member.held, value)) tell(in, member.held, why, wrong);
}

void write_all(Pen& pen, Writer& out, const ObjectMember* members, std::size_t count, const void* object) {
  for (const ObjectMember* member = members; member != members + count; ++member) {
    const void* value = static_cast<const std::byte*>(object) + member->offset;
    if (member->held == Held::Other) {
      if (is_omitted(out, member->presence)) continue;
      pen.give_back_member();
      member->write(out, member->key, value);
      pen.go_on_at_member();
      continue;
    }
    if ((member->presence & (how | directed)) != of::present) {
      if (is_omitted(out, member->presence)) continue;
      if ((member->presence & how) != of::present) {
        const Found found = value_in(member->held, member->presence, value);
        if (found.is_absent) continue;
        value = found.value;
      }
    }
    pen.key(member->key);
    if (value != nullptr && pen.value(form_of(member->held), value)) continue;
    pen.give_back_value();
    if (value != nullptr && member->held == Held::Name) {
      write_name(out, member->rule, value);
    } else if (value != nullptr) {
      write_held(out, member->held, value);
    } else {
      out.null();
    }
    pen.go_on();
  }
}

}  // namespace

void read_object(Reader& in, const ObjectTable& table, void* object, Violations& wrong) {
  const ReadTable& names = table.names;
  Cursor at(in);
  if (!at.begin('{')) {
    if (!in.begin_object()) return;
    at.enter();
  }
  const int depth = in.depth();
  std::uint64_t seen = 0;
  KeyOrder order(&table, names.count);
  for (;;) {
    std::size_t i = order.expected();  // The key after the last member's key is empty, so no member matches it.
    if (!at.member(names, i)) [[unlikely]] {
      if (at.has_left()) break;
      at.give_back();
      const auto key = in.next_key();
      if (!key) break;
      at.go_on_at_value();
      i = find_field(names, *key);
      if (i == names.count) {
        in.skip();
        if (names.is_strict) in.fail("is not a field of this object", nullptr, "additionalProperties");
        if (in.failed() && !collect(in, depth, wrong)) return;
        at.go_on();
        continue;
      }
    }
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((seen & bit) != 0) {
      at.give_back_value();
      return refuse_second(in, wrong);
    }
    seen |= bit;
    order.came(i);
    const ObjectMember& member = table.members[i];
    void* const to = static_cast<std::byte*>(object) + member.offset;
    const Form form = form_of(member.held);
    if (form != Form::Other && (member.presence & how) <= of::optional) {
      void* const value = (member.presence & how) == of::present ? to : engage(member.held, member.presence, to);
      if (at.value(form, value)) {
        if (member.rule.limits == nullptr || is_surely_within(*member.rule.limits, form, value)) continue;
        const Complaint why = complaint_of(*member.rule.limits, member.held, value);
        if (!why) continue;
        at.give_back();
        tell(in, member.held, why, wrong);
        if (in.failed() && !collect(in, depth, wrong)) return;
        at.go_on();
        continue;
      }
    }
    at.give_back_value();
    read_slowly(in, member, to, wrong);
    if (in.failed() && !collect(in, depth, wrong)) return;
    at.go_on();
  }
  if (in.failed()) return;
  std::uint64_t missing = names.required & ~seen;
  for (; missing != 0 && !in.failed(); missing &= missing - 1) {
    const int i = std::countr_zero(missing);
    if (!is_excused(in, table.members[i].presence)) refuse_left(in, names.names[i], {"is required", "required"}, wrong);
  }
}

void read_object(Reader& in, const WideTable& table, void* object, Violations& wrong) {
  if (!in.begin_object()) return;
  const int depth = in.depth();
  std::uint64_t seen[wide_max / 64] = {};
  std::size_t expected = 0;
  while (const auto key = in.next_key(table.keys[expected])) {
    std::size_t i = expected;
    if (key->data() != table.names[i].data() || i == table.count) i = find_field(table, *key);
    if (i == table.count) {
      if (table.others != nullptr) {
        void* const map = static_cast<std::byte*>(object) + table.others->offset;
        if (!table.others->read(in, map, *key, wrong)) return refuse_second(in, wrong);
      } else {
        in.skip();
        if (table.is_strict) in.fail("is not a field of this object", nullptr, "additionalProperties");
      }
    } else {
      const std::uint64_t bit = std::uint64_t{1} << i % 64;
      if ((seen[i / 64] & bit) != 0) return refuse_second(in, wrong);
      seen[i / 64] |= bit;
      const ObjectMember& member = table.members[i];
      read_slowly(in, member, static_cast<std::byte*>(object) + member.offset, wrong);
      expected = i + 1;
    }
    if (in.failed() && !collect(in, depth, wrong)) return;
  }
  for (std::size_t i = 0; i < table.count && !in.failed(); ++i) {
    const Presence presence = table.members[i].presence;
    if ((presence & of::required) != 0 && (seen[i / 64] >> i % 64 & 1) == 0 && !is_excused(in, presence))
      refuse_left(in, table.names[i], {"is required", "required"}, wrong);
  }
}

void write_object(Writer& out, const ObjectTable& table, const void* object) {
  Pen pen(out);
  pen.begin('{');
  write_all(pen, out, table.members, table.names.count, object);
  pen.end('}');
}

void write_object(Writer& out, const WideTable& table, const void* object) {
  Pen pen(out);
  pen.begin('{');
  write_all(pen, out, table.members, table.count, object);
  if (table.others != nullptr) {
    pen.give_back_member();
    table.others->write(out, static_cast<const std::byte*>(object) + table.others->offset);
    pen.go_on_at_member();
  }
  pen.end('}');
}

void read_elements(Reader& in, void* list, void* (*add)(void* list), ReadField read, Violations& wrong) {
  const ListTable table = {add, read, Form::Other};
  read_list(in, table, list, wrong);
}

void read_empty_object(Reader& in, bool is_strict, Violations& wrong) {
  static constexpr std::string_view none[] = {{}};
  static constexpr std::uint8_t slots[] = {0, 0};
  const ReadTable table = {none, none, slots, nullptr, nullptr, 0, 0, 1, is_strict};
  read_object(in, table, nullptr, nullptr, wrong);
}

bool has_length(std::string_view text, std::size_t least, std::size_t most) noexcept {
  // A character has one to four bytes in UTF-8, so for most lengths the characters do not have to be counted.
  if (text.size() <= most && (text.size() + 3) / 4 >= least) return true;
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return characters >= least && characters <= most;
}

const char* length_keyword(std::string_view text, std::size_t most) noexcept {
  return has_length(text, 0, most) ? "minLength" : "maxLength";
}

bool is_multiple(double number, double of) noexcept {
  return keel::internal::is_multiple(keel::internal::DecimalSize(number), keel::internal::DecimalSize(of));
}
bool is_size_multiple(std::uint64_t size, double of) noexcept {
  return keel::internal::is_multiple(keel::internal::DecimalSize(size), keel::internal::DecimalSize(of));
}

bool are_different(const std::vector<std::string>& list) {
  std::vector<std::string_view> views(list.begin(), list.end());
  return are_all_different(std::move(views));
}
bool are_different(const std::vector<std::int32_t>& list) { return are_all_different(list); }
bool are_different(const std::vector<std::int64_t>& list) { return are_all_different(list); }
bool are_different(const std::vector<double>& list) { return are_all_different(list); }

int choose_by_value(Reader& in, std::string_view name, std::span<const std::string_view> values, const char* expected,
                    Violations& wrong) {
  const Reader::Mark mark = in.mark();
  if (!in.begin_object()) return -1;
  while (const auto key = in.next_key()) {
    if (*key != name) {
      in.skip();
      continue;
    }
    const std::string_view value = in.string();
    if (in.failed()) return -1;
    const auto found = std::find(values.begin(), values.end(), value);
    if (found != values.end()) return in.rewind(mark) ? static_cast<int>(found - values.begin()) : -1;
    in.fail(expected, nullptr, "enum");
    return -1;
  }
  if (!in.failed()) refuse_left(in, name, {"is required", "required"}, wrong);
  return -1;
}

int choose_by_name(Reader& in, std::span<const std::string_view> names, int otherwise, Complaint expected,
                   Violations& wrong) {
  const Reader::Mark mark = in.mark();
  if (!in.begin_object()) return -1;
  auto first = names.end();
  while (const auto key = in.next_key()) {
    first = std::min(first, std::find(names.begin(), names.end(), *key));
    in.skip();
  }
  if (in.failed()) return -1;
  const int chosen = first == names.end() ? otherwise : static_cast<int>(first - names.begin());
  if (chosen >= 0) return in.rewind(mark) ? chosen : -1;
  refuse_left(in, {}, expected, wrong);
  return -1;
}

bool has_several(Reader& in, std::span<const std::string_view> names, std::size_t least) {
  if (in.failed() || in.peek() != Kind::Object) return false;
  const Reader::Mark mark = in.mark();
  if (!in.begin_object()) return false;
  std::size_t found = 0;
  while (const auto key = in.next_key()) {
    found += std::find(names.begin(), names.end(), *key) != names.end() ? 1 : 0;
    in.skip();
  }
  return !in.failed() && in.rewind(mark) && found >= least;
}

void refuse_kind(Reader& in, const char* expected) {
  in.skip();
  in.fail(expected, nullptr, "type");
}

}  // namespace keel::json::internal
