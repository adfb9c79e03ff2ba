#include "keel/data/internal/binary_fields.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "keel/base/copy.h"
#include "keel/data/internal/binary_texts.h"
#include "keel/data/internal/json_names.h"
#include "keel/data/internal/json_scan.h"
#include "keel/data/internal/pointer_parts.h"
#include "keel/data/utf8.h"

namespace keel::binary::internal {
namespace {

using json::internal::word_at;

// Whether the bytes at `at` begin with the key. At least as many bytes as the key has, and at least eight, must be
// readable.
[[gnu::always_inline]] inline bool is_key(const char* at, const Step& step) noexcept {
  if (((word_at<std::uint64_t>(at) ^ step.first) & step.mask) != 0) return false;
  if (step.size <= 8) return true;
  for (std::size_t offset = 8; offset + 8u < step.size; offset += 8) {
    if (word_at<std::uint64_t>(at + offset) != word_at<std::uint64_t>(step.key + offset)) return false;
  }
  return word_at<std::uint64_t>(at + step.size - 8) == word_at<std::uint64_t>(step.key + step.size - 8);
}
// Like is_key(), but only `room` bytes need to be readable.
[[gnu::always_inline]] inline bool begins_with_key(const char* at, std::size_t room, const Step& step) noexcept {
  if (room < 8) [[unlikely]]
    return room >= step.size && std::memcmp(at, step.key, step.size) == 0;
  return room >= step.size && is_key(at, step);
}

// Sets the field to the text; the bytes up to `end` must be readable.
[[gnu::always_inline]] inline void set_text(Form form, void* to, const char* at, std::size_t size, const char* end) {
  if (form == Form::View) {
    *static_cast<std::string_view*>(to) = {at, size};
  } else {
    json::internal::put_string({at, size}, end, *static_cast<std::string*>(to));
  }
}

// Reads the value that begins at `at` if its encoding is a common one for `form`; otherwise returns null, and the
// Reader must read the value.
template <class Format>
[[gnu::noinline]] const char* take_long(const char* at, const char* end, Form form, void* to) {
  if (form == Form::Other || at == end) return nullptr;
  Head head;
  at = Format::take(at, end, head);
  if (at == nullptr) return nullptr;
  const bool is_signed = form == Form::Int64 || form == Form::Int32;
  switch (form) {
    case Form::View:
    case Form::String:
      if (head.token != Token::Text || head.number > static_cast<std::uint64_t>(end - at)) return nullptr;
      if (!utf8::is_valid({at, static_cast<std::size_t>(head.number)})) return nullptr;
      set_text(form, to, at, static_cast<std::size_t>(head.number), end);
      return at + head.number;
    case Form::Boolean:
      if (head.token != Token::Boolean) return nullptr;
      *static_cast<bool*>(to) = head.number != 0;
      return at;
    case Form::Double:
      if (head.token != Token::Real) return nullptr;
      *static_cast<double*>(to) = std::bit_cast<double>(head.number);
      return at;
    default:
      break;
  }
  const std::uint64_t most = form == Form::Int64    ? std::uint64_t{std::numeric_limits<std::int64_t>::max()}
                             : form == Form::Int32  ? std::uint64_t{std::numeric_limits<std::int32_t>::max()}
                             : form == Form::Uint32 ? std::uint64_t{std::numeric_limits<std::uint32_t>::max()}
                                                    : ~std::uint64_t{0};
  if (head.number > most || head.token > (is_signed ? Token::Negative : Token::Unsigned)) return nullptr;
  const std::uint64_t number = head.token == Token::Negative ? ~head.number : head.number;
  if (form == Form::Int64 || form == Form::Uint64) {
    std::memcpy(to, &number, sizeof number);
  } else {
    const auto narrow = static_cast<std::uint32_t>(number);
    std::memcpy(to, &narrow, sizeof narrow);
  }
  return at;
}

// If a value has a common form, reads it inline, without a call. At least take_room bytes must be readable from `at`
// on.
template <Form form, class Format>
[[gnu::always_inline]] inline const char* take_far_text(const char* at, const char* end, void* to) {
  const std::size_t size = static_cast<std::uint8_t>(*at) - Format::text_byte;
  if (size >= Format::text_heads || size >= static_cast<std::size_t>(end - at) || !is_text(at, size)) [[unlikely]]
    return take_long<Format>(at, end, form, to);
  set_text(form, to, at + 1, size, end);
  return at + 1 + size;
}
template <class Format>
[[gnu::always_inline]] inline const char* take_far(const char* at, const char* end, Form form, void* to) {
  if (form == Form::View) return take_far_text<Form::View, Format>(at, end, to);
  if (form == Form::String) return take_far_text<Form::String, Format>(at, end, to);
  switch (form) {
    case Form::Other:
      return nullptr;
    case Form::Boolean: {
      const auto value = static_cast<std::uint8_t>(*at ^ Format::false_byte);
      if (value > 1) return nullptr;
      *static_cast<bool*>(to) = value != 0;
      return at + 1;
    }
    case Form::Double:
      if (*at == Format::double_byte) {
        *static_cast<double*>(to) = std::bit_cast<double>(big_endian<std::uint64_t>(at + 1));
        return at + 9;
      }
      if constexpr (std::is_same_v<Format, Cbor>) {
        if (*at == '\xF9') {
          *static_cast<double*>(to) = half(big_endian<std::uint16_t>(at + 1));
          return at + 3;
        }
      }
      break;
    case Form::Int64: {
      std::uint64_t number = 0;
      const char* const behind = Format::take_count(at, number);
      if (behind == nullptr) break;
      std::memcpy(to, &number, sizeof number);
      return behind;
    }
    default:
      break;
  }
  return take_long<Format>(at, end, form, to);
}
// Like take_far(), but works with any number of readable bytes.
template <class Format>
[[gnu::always_inline]] inline const char* take(const char* at, const char* end, Form form, void* to) {
  if (static_cast<std::size_t>(end - at) < take_room) [[unlikely]]
    return take_long<Format>(at, end, form, to);
  return take_far<Format>(at, end, form, to);
}

}  // namespace

template <class Format>
std::string Access<Format>::path_of(const In& in) {
  Buffer path;
  in.append_path(path);
  return std::string(path.view());
}

template <class Format>
Violation Access<Format>::violation_of(const In& in, std::string_view words) {
  return {path_of(in), std::string(words), 0, 0};
}

// Turns the problem that the Reader reports into a violation. Returns false if reading must end. Otherwise, reading
// continues after the value that begins at `begin`, with `depth` containers still open.
template <class Format>
bool Access<Format>::collect(In& in, const char* begin, int depth, Violations& wrong) {
  const Problem problem = in.problem();
  if (problem.cause == Problem::Cause::Syntax) {
    if (!wrong.is_malformed()) {
      Violation one = violation_of(in, problem.message);
      one.message += " at byte " + std::to_string(problem.offset);
      wrong.set_malformed(std::move(one));
    }
    return false;
  }
  if (wrong.has_more()) return false;
  Violation one = violation_of(in, problem.message);
  one.keyword = problem.keyword;
  if (!wrong.add(std::move(one))) return false;
  in.message_ = nullptr;
  in.at_ = begin;
  in.depth_ = depth;
  in.skip();
  return !in.failed() || collect(in, begin, depth, wrong);
}

// Reports a violation of the value that began at `begin`; the value has already been read.
template <class Format>
void Access<Format>::add_violation(In& in, std::string_view field, std::string_view words, Violations& wrong,
                                   const Check::Element& element, std::string_view keyword) {
  Violation one = violation_of(in, words);
  one.keyword = keyword;
  if (!field.empty()) {
    one.pointer += '/';
    keel::internal::append_name(one.pointer, field);
  }
  keel::internal::append_element(one.pointer, element);
  if (!wrong.add(std::move(one))) in.fail("");
}

template <class Format>
struct Access<Format>::Judge {
  In& in;
  Violations& wrong;
  const Check* check = nullptr;
  static void tell(void* context, std::string_view field, std::string_view words, std::string_view keyword) {
    const Judge& judge = *static_cast<const Judge*>(context);
    if (!judge.in.failed()) add_violation(judge.in, field, words, judge.wrong, judge.check->element(), keyword);
  }
};

// Does the work of begin_object() and begin_array(); returns the level of the container that was entered, or null if
// none was entered.
template <class Format>
[[gnu::always_inline]] inline auto Access<Format>::begin(In& in, bool is_object) -> Level* {
  const char* const at = in.at_;
  const std::size_t room = static_cast<std::size_t>(in.end_ - at);
  std::uint64_t count = 0;
  if (room == 0 ||
      (count = static_cast<std::uint8_t>(*at) - (is_object ? Format::map_byte : Format::array_byte)) >=
          Format::container_heads ||
      in.depth_ >= in.depth_max_ || count * (is_object ? 2 : 1) >= room) [[unlikely]] {
    if (!(is_object ? in.begin_object() : in.begin_array())) return nullptr;
    return &in.level_[in.depth_ - 1];
  }
  in.value_ = at;
  in.at_ = at + 1;
  in.due_ = nullptr;
  Level* const level = &in.level_[in.depth_++];
  *level = {count, is_object ? 1u : 0u};
  return level;
}

// Returns true if another item of the entered container follows. Returns false at the end of the container, after
// consuming its stop code ("break"), if any. If the input ends first, reports the problem and returns false.
template <class Format>
[[gnu::always_inline]] inline bool Access<Format>::is_next(In& in, std::uint64_t& left) {
  if (left != In::unknown) return left != 0 && left-- != 0;
  if (in.at_ == in.end_) {
    in.malformed("unexpected end of the bytes");
    return false;
  }
  if (*in.at_ != '\xFF') return true;
  ++in.at_;
  return false;
}

// Reads the key of a member if the key is not the expected one. Returns the index of the field with this key; the
// number of fields if the member was skipped; or the number of fields plus one at the end of the object.
template <class Format>
[[gnu::noinline]] std::size_t Access<Format>::take_other_key(In& in, const ReadTable<Format>& table,
                                                             std::string_view tag, bool& is_tagged, Violations& wrong) {
  const int depth = in.depth_;
  if (in.at_ != in.end_ && in.level_[depth - 1].left == In::unknown && *in.at_ == '\xFF') {
    ++in.at_;
    return table.count + 1u;
  }
  std::string_view key;
  if (!in.take_key(key)) return table.count + 1u;
  const std::size_t i = json::internal::find_field(table, key);
  if (i != table.count) return i;
  const char* const at = in.at_;
  const bool is_tag = !tag.empty() && key == tag;
  if (is_tag && is_tagged) {
    in.value_ = at;
    in.fail_malformed("is given twice");
    return table.count + 1u;
  }
  is_tagged = is_tagged || is_tag;
  in.skip();
  if (table.is_strict && !is_tag) {
    in.refuse(Problem::Cause::Value, "is not a field of this object", at, "additionalProperties");
  }
  return in.failed() && !collect(in, at, depth, wrong) ? table.count + 1u : table.count;
}

// Reads a member's value, which begins at `at`, with the function for the member's field. Returns false if reading
// ends.
template <class Format>
[[gnu::always_inline]] inline bool Access<Format>::read_member(In& in, const ReadTable<Format>& table, const Step& step,
                                                               void* const* fields, const char* key_at, const char* at,
                                                               Level& level, std::uint64_t& wrong_ones,
                                                               Violations& wrong) {
  in.at_ = at;
  level.place = static_cast<std::uint64_t>(key_at - in.begin_ + 1) << 1 | 1;
  const std::size_t before = table.rules != nullptr ? wrong.size() : 0;
  table.read[step.field](in, fields[step.field], wrong);
  if (in.failed() && !collect(in, at, depth_of(in, level), wrong)) return false;
  if (table.rules != nullptr && wrong.size() != before) wrong_ones |= std::uint64_t{1} << step.field;
  return true;
}

template <class Format>
void Access<Format>::read_object(In& in, const ReadTable<Format>& table, void* const* fields, const void* object,
                                 Violations& wrong, std::string_view tag) {
  Level* const level = begin(in, true);
  if (level == nullptr) return;
  const std::uint64_t left = level->left;
  const std::size_t violations = table.rules != nullptr ? wrong.size() : 0;
  std::uint64_t wrong_ones = 0;
  // Reads members as long as they come in the order in which a Writer writes them and their values are not near the end
  // of the bytes.
  const Step* step = table.steps;
  const Step* const last = step + (left < table.count ? left : table.count);
  const char* at = in.at_;
  const char* const end = in.end_;
  while (step != last && static_cast<std::size_t>(end - at) >= step->reach && is_key(at, *step)) {
    const char* const value = at + step->size;
    at = take_far<Format>(value, end, step->form, fields[step->field]);
    if (at == nullptr) {
      if (!read_member(in, table, *step, fields, value - step->size, value, *level, wrong_ones, wrong)) return;
      at = in.at_;
    }
    ++step;
  }
  in.at_ = at;
  const auto passed = static_cast<std::size_t>(step - table.steps);
  if (passed != left || left != table.count || table.rules != nullptr) {
    return read_rest(in, table, fields, object, wrong, tag, {passed, violations, wrong_ones});
  }
  --in.depth_;
  in.due_ = nullptr;
}

// Reads the remaining members, in any order, reports required members that are missing, and calls the rules.
template <class Format>
void Access<Format>::read_rest(In& in, const ReadTable<Format>& table, void* const* fields, const void* object,
                               Violations& wrong, std::string_view tag, Progress progress) {
  const int depth = in.depth_;
  Level& level = in.level_[depth - 1];
  const Step* expected = table.steps + progress.passed;
  std::uint64_t seen = 0;
  for (const Step* step = table.steps; step != expected; ++step) seen |= std::uint64_t{1} << step->field;
  bool is_tagged = false;
  const char* at = in.at_;
  const char* const end = in.end_;
  // If the count is unknown, `left` is so high that only the stop code ("break") ends the loop.
  for (std::uint64_t left = level.left - progress.passed; left != 0; --left) {
    const char* const key_at = at;
    const auto room = static_cast<std::size_t>(end - at);
    std::size_t i = expected->field;
    if (i != table.count && begins_with_key(at, room, *expected)) [[likely]] {
      at += expected->size;
      ++expected;
    } else {
      in.at_ = at;
      i = take_other_key(in, table, tag, is_tagged, wrong);
      at = in.at_;
      if (i == table.count) continue;
      if (i > table.count) break;
      expected = table.steps + table.places[i] + 1;
    }
    const Step& step = expected[-1];
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((seen & bit) != 0) [[unlikely]] {
      level.place = static_cast<std::uint64_t>(key_at - in.begin_ + 1) << 1 | 1;
      in.value_ = at;
      in.fail_malformed("is given twice");
      break;
    }
    seen |= bit;
    if (const char* const behind = take<Format>(at, end, step.form, fields[i])) [[likely]] {
      at = behind;
      continue;
    }
    if (!read_member(in, table, step, fields, key_at, at, level, progress.wrong, wrong)) return;
    at = in.at_;
  }
  if (in.failed()) return;
  in.at_ = at;
  in.depth_ = depth - 1;
  in.due_ = nullptr;
  for (std::uint64_t missing = table.required & ~seen; missing != 0 && !in.failed(); missing &= missing - 1) {
    add_violation(in, table.names[std::countr_zero(missing)], "is required", wrong, {}, "required");
  }
  if (table.rules == nullptr || in.failed()) return;
  Judge judge{in, wrong};
  Check check(fields, {table.names, table.count}, seen & ~progress.wrong, wrong.size() == progress.violations,
              Judge::tell, &judge);
  judge.check = &check;
  table.rules(object, check);
}

template <class Format>
void Access<Format>::read_list(In& in, const ListTable<Format>& table, void* list, Violations& wrong) {
  Level* const level = begin(in, false);
  if (level == nullptr) return;
  std::uint64_t left = level->left;
  while (is_next(in, left)) {
    level->place += 2;
    void* const element = table.add(list);
    const char* const at = in.at_;
    if (const char* const behind = take<Format>(at, in.end_, table.form, element)) {
      in.at_ = behind;
      continue;
    }
    table.read(in, element, wrong);
    if (in.failed() && !collect(in, at, depth_of(in, *level), wrong)) return;
  }
  if (in.failed()) return;
  --in.depth_;
  in.due_ = nullptr;
}

template <class Format>
void Access<Format>::read_array(In& in, const ArrayTable<Format>& table, void* first, Violations& wrong) {
  const Level* const level = begin(in, false);
  if (level == nullptr) return;
  const std::uint64_t left = level->left;
  // Reads values directly, without the Reader, if they have a common form. The stop code ("break") has no common form.
  const std::size_t most = left < table.count ? left : table.count;
  std::size_t count = 0;
  auto* element = static_cast<std::byte*>(first);
  const Form form = table.form;
  const char* at = in.at_;
  const char* const end = in.end_;
  for (; count != most; ++count, element += table.stride) {
    const char* const behind = take<Format>(at, end, form, element);
    if (behind == nullptr) break;
    at = behind;
  }
  in.at_ = at;
  if (count != left || left != table.count) return read_elements(in, table, element, count, wrong);
  --in.depth_;
  in.due_ = nullptr;
}

// Reads the elements after the first `count` elements, and checks how many elements there are.
template <class Format>
[[gnu::noinline]] void Access<Format>::read_elements(In& in, const ArrayTable<Format>& table, std::byte* element,
                                                     std::size_t count, Violations& wrong) {
  const int depth = in.depth_;
  Level& level = in.level_[depth - 1];
  std::uint64_t left = level.left == In::unknown ? In::unknown : level.left - count;
  for (; is_next(in, left); ++count, element += table.stride) {
    level.place = 2 * (std::uint64_t{count} + 1);
    const char* const at = in.at_;
    if (count >= table.count) {
      in.skip();
    } else if (const char* const behind = take<Format>(at, in.end_, table.form, element)) {
      in.at_ = behind;
      continue;
    } else {
      table.read(in, element, wrong);
    }
    if (in.failed() && !collect(in, at, depth, wrong)) return;
  }
  if (in.failed()) return;
  --in.depth_;
  in.due_ = nullptr;
  if (count == table.count) return;
  add_violation(in, {}, "must have " + std::to_string(table.count) + (table.count == 1 ? " element" : " elements"),
                wrong, {}, count < table.count ? "minItems" : "maxItems");
}

template <class Format>
void Access<Format>::read_map(In& in, const MapTable<Format>& table, void* map, Violations& wrong) {
  const Level* const level = begin(in, true);
  if (level == nullptr) return;
  const int depth = in.depth_;
  std::uint64_t left = level->left;
  while (is_next(in, left)) {
    std::string_view key;
    if (!in.take_key(key)) return;
    const char* const at = in.at_;
    void* const element = table.add(map, key);
    if (element == nullptr) {
      in.value_ = at;
      in.fail_malformed("is given twice");
      return;
    }
    table.read(in, element, wrong);
    if (in.failed() && !collect(in, at, depth, wrong)) return;
  }
  if (in.failed()) return;
  --in.depth_;
  in.due_ = nullptr;
}

// Reports a violation of the whole value that begins at `begin`, and skips the value.
template <class Format>
void Access<Format>::refuse(In& in, const char* begin, int depth, std::string_view words, Violations& wrong) {
  Violation one = violation_of(in, words);
  one.keyword = "enum";
  if (!wrong.add(std::move(one))) return in.fail("");
  in.at_ = begin;
  in.depth_ = depth;
  in.skip();
}

template <class Format>
void Access<Format>::read_variant(In& in, const VariantTable<Format>& table, void* variant, Violations& wrong) {
  const char* const begin = in.at_;
  const int depth = in.depth_;
  if (!in.begin_object()) return;
  while (const auto key = in.next_key()) {
    if (*key != table.name) {
      in.skip();
      continue;
    }
    const std::string_view value = in.string();
    if (in.failed()) return;
    for (std::size_t i = 0; i < table.count; ++i) {
      if (table.alternatives[i] != value) continue;
      in.at_ = begin;
      in.depth_ = depth;
      return table.read[i](in, variant, wrong);
    }
    std::string words = "must be one of ";
    for (std::size_t i = 0; i < table.count; ++i) {
      if (i != 0) words += ", ";
      words += table.alternatives[i];
    }
    return refuse(in, begin, depth, words, wrong);
  }
  if (!in.failed()) add_violation(in, table.name, "is required", wrong, {}, "required");
}

template <class Format>
void Access<Format>::read_byte_array(In& in, std::byte* to, std::size_t size, Violations& wrong) {
  const std::span<const std::byte> bytes = in.bytes();
  if (in.failed()) return;
  if (bytes.size() == size) {
    if (size != 0) std::memcpy(to, bytes.data(), size);
    return;
  }
  add_violation(in, {}, "must have " + std::to_string(size) + (size == 1 ? " byte" : " bytes"), wrong, {}, "format");
}

template <class Format>
void Access<Format>::read_float(In& in, float& value) {
  const double number = in.number();
  const auto single = static_cast<float>(number);
  if (std::isinf(single) && !std::isinf(number)) return in.mismatch("number out of range", "format");
  value = single;
}

template <class Format>
void Access<Format>::wrong_enum_name(In& in, const keel::internal::EnumNames& names, Violations& wrong) {
  std::string words = "must be one of ";
  bool is_first = true;
  for (std::size_t value = 0; value < names.count; ++value) {
    const std::string_view name = names.name(value);
    if (name.empty()) continue;
    if (!is_first) words += ", ";
    is_first = false;
    words += name;
  }
  add_violation(in, {}, words, wrong, {}, "enum");
}

template <class Format>
bool Access<Format>::read_whole(std::string_view bytes, Arena& arena, ReaderOptions options, ReadField<Format> read,
                                void* value, Violations& wrong) {
  if (!wrong.empty()) wrong.clear();
  In in(bytes, arena, options);
  if (!in.failed()) read(in, value, wrong);
  if (in.failed()) {
    if (!wrong.has_more()) collect(in, in.begin_, 0, wrong);
  }
  if (!in.failed() && in.at_ != in.end_ && !in.finish()) collect(in, in.begin_, 0, wrong);
  return wrong.empty();
}

// Moves to the value that begins at `where`, which must be the beginning of the next value or of a value inside the
// next value; returns false if no value begins at `where`.
template <class Format>
bool Access<Format>::find_place(In& in, const char* where) {
  do {
    if (in.at_ == where) return true;
    in.peek();  // Skips hints.
    if (in.at_ == where) return true;
  } while (in.peek() == Kind::Other && in.try_tag());
  if (in.peek() == Kind::Object) {
    in.begin_object();
    while (in.next_key()) {
      if (find_place(in, where)) return true;
    }
  } else if (in.peek() == Kind::Array) {
    in.begin_array();
    while (in.next_element()) {
      if (find_place(in, where)) return true;
    }
  } else {
    in.skip();
  }
  return in.failed();
}

template <class Format>
void Access<Format>::tell_at(In& in, const char* begin, const char* where) {
  const Problem problem = in.failed() ? in.problem() : Problem{Problem::Cause::Value, "", 0};
  in.message_ = nullptr;
  in.at_ = begin;
  if (find_place(in, where) && !in.failed()) in.refuse(problem.cause, problem.message, where, problem.keyword);
  if (!in.failed()) in.refuse(problem.cause, problem.message, begin, problem.keyword);
}

template class Access<Cbor>;
template class Access<MessagePack>;

}  // namespace keel::binary::internal
