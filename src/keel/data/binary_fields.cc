#include "keel/data/internal/binary_fields.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "keel/base/copy.h"
#include "keel/data/internal/binary_numbers.h"
#include "keel/data/internal/json_names.h"
#include "keel/data/internal/json_scan.h"
#include "keel/data/utf8.h"

namespace keel::binary::internal {
namespace {

void append_name(std::string& pointer, std::string_view name) {
  for (const char c : name) {
    if (c == '~' || c == '/') {
      pointer += c == '~' ? "~0" : "~1";
    } else {
      pointer += c;
    }
  }
}

// Texts are mostly short, and ASCII. The bytes go on up to `end`.
[[gnu::always_inline]] inline bool is_text(std::string_view text, const char* end) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  using json::internal::word_at;
  const char* const at = text.data();
  const std::size_t size = text.size();
  std::uint64_t bits = 0;
  if (size > 8) {
    if (size > 32) return utf8::is_valid(text);
    for (std::size_t i = 0; i + 8 < size; i += 8) bits |= word_at<std::uint64_t>(at + i);
    bits |= word_at<std::uint64_t>(at + size - 8);
  } else if (end - at >= 8 && std::endian::native == std::endian::little) {
    bits = size == 0 ? 0 : word_at<std::uint64_t>(at) << (64 - 8 * size);
  } else {
    return utf8::is_valid(text);
  }
  return (bits & high_bits) == 0 || utf8::is_valid(text);
}

// The value at this very byte where it has the common form of `form`; else null, and the Reader has to look.
template <class Format>
[[gnu::always_inline]] inline const char* take(const char* at, const char* end, Form form, void* to) noexcept {
  if (form == Form::Other || at == end) return nullptr;
  if (form == Form::Boolean) {
    const auto value = static_cast<std::uint8_t>(*at ^ Format::false_byte);
    if (value > 1) return nullptr;
    *static_cast<bool*>(to) = value != 0;
    return at + 1;
  }
  if (form == Form::Double && *at == Format::double_byte && end - at >= 9) {
    *static_cast<double*>(to) = std::bit_cast<double>(big_endian<std::uint64_t>(at + 1));
    return at + 9;
  }
  Head head;
  at = Format::take(at, end, head);
  if (at == nullptr) return nullptr;
  switch (form) {
    case Form::View:
    case Form::String: {
      if (head.token != Token::Text || head.number > static_cast<std::uint64_t>(end - at)) return nullptr;
      const std::string_view text(at, static_cast<std::size_t>(head.number));
      if (!is_text(text, end)) return nullptr;
      if (form == Form::View) {
        *static_cast<std::string_view*>(to) = text;
      } else {
        *static_cast<std::string*>(to) = text;
      }
      return at + text.size();
    }
    case Form::Double:
      if (head.token != Token::Real) return nullptr;
      *static_cast<double*>(to) = std::bit_cast<double>(head.number);
      return at;
    case Form::Uint64:
      if (head.token != Token::Unsigned) return nullptr;
      *static_cast<std::uint64_t*>(to) = head.number;
      return at;
    case Form::Uint32:
      if (head.token != Token::Unsigned || head.number > std::numeric_limits<std::uint32_t>::max()) return nullptr;
      *static_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(head.number);
      return at;
    case Form::Int64:
    case Form::Int32: {
      const std::uint64_t most = form == Form::Int64 ? std::uint64_t{std::numeric_limits<std::int64_t>::max()}
                                                     : std::uint64_t{std::numeric_limits<std::int32_t>::max()};
      if (head.number > most || head.token > Token::Negative) return nullptr;
      const auto number = static_cast<std::int64_t>(head.token == Token::Negative ? ~head.number : head.number);
      if (form == Form::Int64) {
        *static_cast<std::int64_t*>(to) = number;
      } else {
        *static_cast<std::int32_t*>(to) = static_cast<std::int32_t>(number);
      }
      return at;
    }
    default:
      return nullptr;
  }
}

template <class Format>
std::size_t find(const ReadTable<Format>& table, std::string_view name) noexcept {
  const std::size_t mask = (std::size_t{1} << table.slot_bits) - 1;
  for (std::size_t slot = json::internal::name_slot(name, table.slot_bits); table.slots[slot] != 0;
       slot = (slot + 1) & mask) {
    const std::size_t i = table.slots[slot] - 1u;
    if (table.names[i] == name) return i;
  }
  return table.count;
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

// Makes a violation of the Reader's problem. True when reading goes on, in the `depth` outermost containers and behind
// the value that begins at `begin`.
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

// A violation of the value that began at `begin`, which has been taken.
template <class Format>
void Access<Format>::add_violation(In& in, std::string_view field, std::string_view words, Violations& wrong,
                                   const Check::Element& element, std::string_view keyword) {
  Violation one = violation_of(in, words);
  one.keyword = keyword;
  if (!field.empty()) {
    one.pointer += '/';
    append_name(one.pointer, field);
  }
  switch (element.kind) {
    case Check::Element::Kind::None:
      break;
    case Check::Element::Kind::Index:
      one.pointer += "/" + std::to_string(element.index);
      break;
    case Check::Element::Kind::Key:
      one.pointer += '/';
      append_name(one.pointer, element.key);
  }
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

// As begin_object() and begin_array().
template <class Format>
inline bool Access<Format>::begin(In& in, bool is_object) {
  Head head;
  const char* const at = in.at_ == in.end_ ? nullptr : Format::take(in.at_, in.end_, head);
  if (at == nullptr || head.token != (is_object ? Token::Map : Token::Array) || in.depth_ >= in.depth_max_ ||
      head.number > static_cast<std::uint64_t>(in.end_ - at) / (is_object ? 2 : 1)) [[unlikely]] {
    return is_object ? in.begin_object() : in.begin_array();
  }
  in.value_ = in.at_;
  in.at_ = at;
  in.due_ = nullptr;
  in.level_[in.depth_++] = {head.number, is_object ? 1u : 0u};
  return true;
}

// Whether another item is due in the container whose items began; false at its end, which is passed, and when the
// bytes end.
template <class Format>
bool Access<Format>::is_next(In& in, std::uint64_t& left) {
  if (left != In::unknown) return left != 0 && left-- != 0;
  if (in.at_ == in.end_) {
    in.malformed("unexpected end of the bytes");
    return false;
  }
  if (*in.at_ != '\xFF') return true;
  ++in.at_;
  return false;
}

template <class Format>
void Access<Format>::read_object(In& in, const ReadTable<Format>& table, void* const* fields, const void* object,
                                 Violations& wrong, std::string_view tag) {
  if (!begin(in, true)) return;
  const int depth = in.depth_;
  Level& level = in.level_[depth - 1];
  std::uint64_t left = level.left;
  const std::size_t violations = wrong.size();
  std::uint64_t seen = 0;
  std::uint64_t wrong_ones = 0;
  bool is_tagged = false;
  std::size_t last = table.count;
  const char* at = in.at_;
  const char* const end = in.end_;
  for (;;) {
    if (left != In::unknown) [[likely]] {
      if (left == 0) break;
      --left;
    } else {
      in.at_ = at;
      if (!is_next(in, left)) {
        at = in.at_;
        break;
      }
    }
    const char* const key_at = at;
    std::size_t i = table.next[last];
    if (json::internal::begins_with(at, end, table.keys[i])) [[likely]] {
      at += table.keys[i].size();
    } else if (last + 1 < table.count && json::internal::begins_with(at, end, table.keys[last + 1])) {
      i = last + 1;
      at += table.keys[i].size();
    } else {
      in.at_ = at;
      std::string_view key;
      if (!in.take_key(key)) break;
      at = in.at_;
      i = find(table, key);
      if (i == table.count) {
        const bool is_tag = !tag.empty() && key == tag;
        if (is_tag && is_tagged) {
          in.value_ = at;
          in.fail_malformed("is given twice");
          break;
        }
        is_tagged = is_tagged || is_tag;
        in.skip();
        if (table.is_strict && !is_tag) {
          in.refuse(Problem::Cause::Value, "is not a field of this object", at, "additionalProperties");
        }
        if (in.failed() && !collect(in, at, depth, wrong)) return;
        at = in.at_;
        continue;
      }
    }
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((seen & bit) != 0) [[unlikely]] {
      level.place = static_cast<std::uint64_t>(key_at - in.begin_ + 1) << 1 | 1;
      in.value_ = at;
      in.fail_malformed("is given twice");
      break;
    }
    seen |= bit;
    last = i;
    if (const char* const behind = take<Format>(at, end, table.forms[i], fields[i])) [[likely]] {
      at = behind;
      continue;
    }
    in.at_ = at;
    level.place = static_cast<std::uint64_t>(key_at - in.begin_ + 1) << 1 | 1;
    const std::size_t before = wrong.size();
    table.read[i](in, fields[i], wrong);
    if (in.failed() && !collect(in, at, depth, wrong)) return;
    if (wrong.size() != before) wrong_ones |= bit;
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
  Check check(fields, {table.names, table.count}, seen & ~wrong_ones, wrong.size() == violations, Judge::tell, &judge);
  judge.check = &check;
  table.rules(object, check);
}

template <class Format>
void Access<Format>::read_list(In& in, const ListTable<Format>& table, void* list, Violations& wrong) {
  if (!begin(in, false)) return;
  const int depth = in.depth_;
  Level& level = in.level_[depth - 1];
  std::uint64_t left = level.left;
  while (is_next(in, left)) {
    level.place += 2;
    void* const element = table.add(list);
    const char* const at = in.at_;
    if (const char* const behind = take<Format>(at, in.end_, table.form, element)) {
      in.at_ = behind;
      continue;
    }
    table.read(in, element, wrong);
    if (in.failed() && !collect(in, at, depth, wrong)) return;
  }
  if (in.failed()) return;
  --in.depth_;
  in.due_ = nullptr;
}

template <class Format>
void Access<Format>::read_array(In& in, const ArrayTable<Format>& table, void* first, Violations& wrong) {
  if (!begin(in, false)) return;
  const int depth = in.depth_;
  Level& level = in.level_[depth - 1];
  std::uint64_t left = level.left;
  std::size_t count = 0;
  for (; is_next(in, left); ++count) {
    level.place += 2;
    const char* const at = in.at_;
    void* const element = static_cast<std::byte*>(first) + count * table.stride;
    if (count < table.count) {
      if (const char* const behind = take<Format>(at, in.end_, table.form, element)) {
        in.at_ = behind;
        continue;
      }
      table.read(in, element, wrong);
    } else {
      in.skip();
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
  if (!begin(in, true)) return;
  const int depth = in.depth_;
  std::uint64_t left = in.level_[depth - 1].left;
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

// A violation of the whole value that begins at `begin`, which is passed over.
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
  wrong.clear();
  In in(bytes, arena, options);
  if (!in.failed()) read(in, value, wrong);
  if (in.failed()) {
    if (!wrong.has_more()) collect(in, in.begin_, 0, wrong);
  }
  if (!in.failed() && !in.finish()) collect(in, in.begin_, 0, wrong);
  return wrong.empty();
}

namespace {

// The value where it is written without a call; else null. There is room for 9 bytes, and for the text.
template <class Format>
[[gnu::always_inline]] inline char* put(char* at, Form form, const void* field) noexcept {
  switch (form) {
    case Form::Boolean:
      *at = *static_cast<const bool*>(field) ? Format::true_byte : Format::false_byte;
      return at + 1;
    case Form::Int32:
      return put_integer<Format>(at, *static_cast<const std::int32_t*>(field));
    case Form::Int64:
      return put_integer<Format>(at, *static_cast<const std::int64_t*>(field));
    case Form::Uint32:
      return Format::put(at, Token::Unsigned, *static_cast<const std::uint32_t*>(field));
    case Form::Uint64:
      return Format::put(at, Token::Unsigned, *static_cast<const std::uint64_t*>(field));
    case Form::Double:
      return put_double(Format(), at, *static_cast<const double*>(field));
    default:
      return nullptr;
  }
}

}  // namespace

template <class Format>
void Access<Format>::write_object(Out& out, const WriteTable<Format>& table, void* const* fields, Tag tag) {
  std::size_t count = table.count + (tag.name.empty() ? 0 : 1);
  if (table.is_absent != nullptr) {
    for (std::size_t i = 0; i < table.count; ++i) {
      if (table.is_absent[i] != nullptr && table.is_absent[i](fields[i])) --count;
    }
  }
  out.begin_object(count);
  Buffer& to = out.out_;
  for (std::size_t place = 0; place < table.count; ++place) {
    const std::size_t i = table.sequence[place];
    if (!tag.name.empty()) {
      const std::string_view name = table.names[i];
      if (tag.name.size() != name.size() ? tag.name.size() < name.size() : tag.name < name) {
        out.key(tag.name).string(tag.value);
        tag = {};
      }
    }
    if (table.is_absent != nullptr && table.is_absent[i] != nullptr && table.is_absent[i](fields[i])) continue;
    const std::string_view key = table.keys[i];
    const Form form = table.forms[i];
    std::string_view text;
    if (form == Form::View) text = *static_cast<const std::string_view*>(fields[i]);
    if (form == Form::String) text = *static_cast<const std::string*>(fields[i]);
    char* const begin = to.reserve(key.size() + 9 + text.size());
    copy_short(begin, key.data(), key.size());
    char* at = begin + key.size();
    if (form == Form::View || form == Form::String) {
      if (text.size() > std::numeric_limits<std::uint32_t>::max()) [[unlikely]] {
        to.commit(key.size());
        out.string(text);
        continue;
      }
      at = Format::put(at, Token::Text, text.size());
      if (!text.empty()) copy_short(at, text.data(), text.size());
      to.commit(static_cast<std::size_t>(at - begin) + text.size());
      continue;
    }
    if (char* const behind = put<Format>(at, form, fields[i])) {
      to.commit(static_cast<std::size_t>(behind - begin));
      continue;
    }
    to.commit(key.size());
    table.write[i](out, fields[i]);
  }
  if (!tag.name.empty()) out.key(tag.name).string(tag.value);
}

template <class Format>
void Access<Format>::write_elements(Out& out, const ElementTable<Format>& table, const void* first, std::size_t count) {
  out.begin_array(count);
  Buffer& to = out.out_;
  for (const auto* at = static_cast<const std::byte*>(first); count > 0; --count, at += table.stride) {
    char* const begin = to.reserve(9);
    if (char* const behind = put<Format>(begin, table.form, at)) {
      to.commit(static_cast<std::size_t>(behind - begin));
    } else {
      table.write(out, at);
    }
  }
}

template class Access<Cbor>;
template class Access<MessagePack>;

}  // namespace keel::binary::internal
