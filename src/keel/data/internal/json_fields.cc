#include "keel/data/internal/json_fields.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "keel/base/buffer.h"
#include "keel/base/bug.h"
#include "keel/data/base64.h"
#include "keel/data/internal/json_cursor.h"
#include "keel/data/internal/json_pen.h"
#include "keel/data/internal/key_order.h"
#include "keel/data/internal/pointer_parts.h"

namespace keel::json::internal {
namespace {

Violation violation_of(const Reader& in, std::string_view words, std::string_view keyword) {
  const Problem problem = in.problem();
  Buffer path;
  in.append_path(path);
  return {std::string(path.view()), std::string(words), problem.line, problem.column, keyword};
}

// Reports a violation of `field` of the object that was just left, or of an element of that field; if `field` is empty,
// reports a violation of the object or list itself.
void add_violation(Reader& in, std::string_view field, std::string_view words, std::string_view keyword,
                   Violations& wrong, const Check::Element& element = {}) {
  in.fail("", "");  // The Reader reports this problem at the end of the object or list, so the path ends in a '/'.
  Violation one = violation_of(in, words, keyword);
  keel::internal::append_name(one.pointer, field);
  if (field.empty()) one.pointer.pop_back();
  keel::internal::append_element(one.pointer, element);
  if (wrong.add(std::move(one))) in.resume(in.depth());
}

// Reports a violation of the last value that was read. Reading then continues after this value, with `depth`
// containers still open.
void refuse_value(Reader& in, std::string_view words, std::string_view keyword, Violations& wrong, int depth) {
  in.fail("");
  if (wrong.add(violation_of(in, words, keyword))) in.resume(depth);
}

struct Judge {
  Reader& in;
  Violations& wrong;
  const Check* check = nullptr;
  static void tell(void* context, std::string_view field, std::string_view words, std::string_view keyword) {
    const Judge& judge = *static_cast<const Judge*>(context);
    if (!judge.in.failed()) add_violation(judge.in, field, words, keyword, judge.wrong, judge.check->element());
  }
};

[[gnu::always_inline]] inline bool is_element_due(Cursor& at, Reader& in) {
  if (at.element()) return true;
  if (at.has_left()) return false;
  at.give_back();
  const bool is_due = in.next_element();
  at.go_on_at_value();
  return is_due;
}

}  // namespace

bool collect(Reader& in, int depth, Violations& wrong) {
  if (wrong.is_malformed() || wrong.has_more()) return false;
  const Problem problem = in.problem();
  Violation one = violation_of(in, problem.message, problem.keyword);
  if (problem.cause == Problem::Cause::Syntax) {
    wrong.set_malformed(std::move(one));
    return false;
  }
  if (!wrong.add(std::move(one))) return false;
  return in.resume(depth) || collect(in, depth, wrong);
}

void refuse_second(Reader& in, Violations& wrong) {
  in.peek();  // Moves to the next value, to which the violation belongs.
  in.fail_malformed("is given twice");
  wrong.set_malformed(violation_of(in, "is given twice", {}));
}

void refuse_left(Reader& in, std::string_view member, Complaint why, Violations& wrong) {
  add_violation(in, member, why.message, why.keyword, wrong);
}

void wrong_element_count(Reader& in, std::size_t given, std::size_t count, Violations& wrong) {
  add_violation(in, {}, "must have " + std::to_string(count) + (count == 1 ? " element" : " elements"),
                given < count ? "minItems" : "maxItems", wrong);
}

void wrong_enum_name(Reader& in, const keel::internal::EnumNames& names, Violations& wrong) {
  std::vector<std::string_view> list;
  for (std::size_t value = 0; value < names.count; ++value) {
    if (!names.name(value).empty()) list.push_back(names.name(value));
  }
  wrong_name(in, list, wrong);
}

void wrong_name(Reader& in, std::span<const std::string_view> names, Violations& wrong) {
  std::string words = "must be one of ";
  for (const std::string_view& name : names) {
    if (&name != names.data()) words += ", ";
    words += name;
  }
  refuse_value(in, words, "enum", wrong, in.depth());
}

std::size_t decoded_size(std::string_view text) noexcept { return base64::decoded_size(text); }

std::size_t decode_bytes(Reader& in, std::string_view text, std::byte* to, std::size_t size, Violations& wrong) {
  if (in.failed()) return 0;
  const Result<std::size_t> bytes = base64::decode(text, {to, size}, base64::Form::Standard);
  if (bytes) return *bytes;
  std::string words = "expected base64";
  const std::string_view said = bytes.error().message();
  if (const std::size_t colon = said.find(": "); colon != said.npos) words.append(", ").append(said.substr(colon + 2));
  refuse_value(in, words, "format", wrong, in.depth());
  return 0;
}

void read_byte_array(Reader& in, std::byte* to, std::size_t size, Violations& wrong) {
  const std::string_view text = in.string();
  if (in.failed()) return;
  const std::size_t violations = wrong.size();
  const bool may_fit = base64::decoded_size(text) == size;
  if (may_fit && decode_bytes(in, text, to, size, wrong) == size) return;
  if (wrong.size() != violations || in.failed()) return;
  refuse_value(in, "must have " + std::to_string(size) + (size == 1 ? " byte" : " bytes") + " in base64", "format",
               wrong, in.depth());
}

void read_variant(Reader& in, const VariantTable& table, void* variant, Violations& wrong) {
  const Reader::Mark mark = in.mark();
  const int depth = in.depth();
  if (!in.begin_object()) return;
  while (const auto key = in.next_key(table.key)) {
    if (*key != table.name) {
      in.skip();
      continue;
    }
    const std::string_view value = in.string();
    if (in.failed()) return;
    for (std::size_t i = 0; i < table.count; ++i) {
      if (table.alternatives[i] != value) continue;
      if (in.rewind(mark)) table.read[i](in, variant, wrong);
      return;
    }
    std::string words = "must be one of ";
    for (std::size_t i = 0; i < table.count; ++i) {
      if (i != 0) words += ", ";
      words += table.alternatives[i];
    }
    return refuse_value(in, words, "enum", wrong, depth);
  }
  if (!in.failed()) add_violation(in, table.name, "is required", "required", wrong);
}

void read_object(Reader& in, const ReadTable& table, void* const* fields, const void* object, Violations& wrong,
                 std::string_view tag) {
  Cursor at(in);
  if (!at.begin('{')) {
    if (!in.begin_object()) return;
    at.enter();
  }
  const int depth = in.depth();
  const std::size_t violations = wrong.size();
  std::uint64_t seen = 0;
  std::uint64_t wrong_ones = 0;
  bool is_tagged = false;
  static constexpr Form others[64] = {};
  const Form* const forms = table.forms != nullptr ? table.forms : others;
  KeyOrder order(&table, table.count);
  for (;;) {
    std::size_t i = order.expected();  // The key after the last member's key is empty, so no member matches it.
    if (!at.member(table, i)) [[unlikely]] {
      if (at.has_left()) break;
      at.give_back();
      const auto key = in.next_key();
      if (!key) break;
      at.go_on_at_value();
      i = find_field(table, *key);
      if (i == table.count) {
        const bool is_tag = !tag.empty() && *key == tag;
        if (is_tag && is_tagged) return refuse_second(in, wrong);
        is_tagged = is_tagged || is_tag;
        in.skip();
        if (table.is_strict && !is_tag) in.fail("is not a field of this object", nullptr, "additionalProperties");
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
    if (at.value(forms[i], fields[i])) continue;
    at.give_back_value();
    const std::size_t before = wrong.size();
    table.read[i](in, fields[i], wrong);
    if (in.failed() && !collect(in, depth, wrong)) return;
    if (wrong.size() != before) wrong_ones |= bit;
    at.go_on();
  }
  if (in.failed()) return;
  std::uint64_t missing = table.required & ~seen;
  for (; missing != 0 && !in.failed(); missing &= missing - 1) {
    add_violation(in, table.names[std::countr_zero(missing)], "is required", "required", wrong);
  }
  if (table.rules == nullptr || in.failed()) return;
  Judge judge{in, wrong};
  Check check(fields, {table.names, table.count}, seen & ~wrong_ones, wrong.size() == violations, Judge::tell, &judge);
  judge.check = &check;
  table.rules(object, check);
}

void read_list(Reader& in, const ListTable& table, void* list, Violations& wrong) {
  Cursor at(in);
  if (!at.begin('[')) {
    if (!in.begin_array()) return;
    at.enter();
  }
  const int depth = in.depth();
  while (is_element_due(at, in)) {
    void* const element = table.add(list);
    if (at.value(table.form, element)) continue;
    at.give_back_value();
    table.read(in, element, wrong);
    if (in.failed() && !collect(in, depth, wrong)) return;
    at.go_on();
  }
}

void read_array(Reader& in, const ArrayTable& table, void* first, Violations& wrong) {
  Cursor at(in);
  if (!at.begin('[')) {
    if (!in.begin_array()) return;
    at.enter();
  }
  const int depth = in.depth();
  std::size_t count = 0;
  for (; is_element_due(at, in); ++count) {
    void* const element = static_cast<std::byte*>(first) + count * table.stride;
    if (count < table.count && at.value(table.form, element)) continue;
    at.give_back_value();
    if (count < table.count) {
      table.read(in, element, wrong);
    } else {
      in.skip();
    }
    if (in.failed() && !collect(in, depth, wrong)) return;
    at.go_on();
  }
  if (count != table.count && !in.failed()) wrong_element_count(in, count, table.count, wrong);
}

bool read_text(std::string_view text, Arena& arena, ReaderOptions options, ReadField read, void* value,
               Violations& wrong) {
  wrong.clear();
  Reader in(text, arena, options);
  read(in, value, wrong);
  if (in.failed()) collect(in, 0, wrong);
  if (!in.failed() && !in.finish()) collect(in, 0, wrong);
  return wrong.empty();
}

// The number is not read as a double first, because it would then be rounded twice.
void read_float(Reader& in, float& value) {
  const std::string_view text = in.number_text();
  if (in.failed()) return;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || !std::isfinite(value)) in.fail("number out of range", nullptr, "format");
}

void write_object(Writer& out, const WriteTable& table, void* const* fields, Tag tag) {
  Pen pen(out);
  pen.begin('{');
  if (!tag.name.empty()) {
    pen.give_back_first();
    out.key(tag.name).string(tag.value);
    pen.go_on();
  }
  for (std::size_t i = 0; i < table.count; ++i) {
    if (table.is_absent != nullptr && table.is_absent[i] != nullptr && table.is_absent[i](fields[i])) continue;
    pen.key(table.keys[i]);
    if (pen.value(table.forms != nullptr ? table.forms[i] : Form::Other, fields[i])) continue;
    pen.give_back_value();
    table.write[i](out, fields[i]);
    pen.go_on();
  }
  pen.end('}');
}

void write_elements(Writer& out, const ElementTable& table, const void* first, std::size_t count) {
  Pen pen(out);
  pen.begin('[');
  for (const auto* at = static_cast<const std::byte*>(first); count > 0; --count, at += table.stride) {
    pen.element();
    if (pen.value(table.form, at)) continue;
    pen.give_back_value();
    table.write(out, at);
    pen.go_on();
  }
  pen.end(']');
}

void write_float(Writer& out, float value) {
  if (!std::isfinite(value)) {
    out.null();
    return;
  }
  char digits[32];
  out.raw({digits, std::to_chars(digits, digits + sizeof digits, value).ptr});
}

void throw_valueless() {
  throw_bug(
      "a std::variant without a value cannot be written: an exception was thrown while a value was assigned to it",
      std::source_location::current());
}

void throw_nameless(std::int64_t value) {
  throw_bug("the value " + std::to_string(value) +
                " of an enum has no name and cannot be written: only values from 0 to 127 have names (enum_names.h)",
            std::source_location::current());
}

}  // namespace keel::json::internal
