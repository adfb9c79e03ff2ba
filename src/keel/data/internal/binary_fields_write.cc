// Writes structs and lists by means of their tables.

#include <cstring>
#include <limits>
#include <string>

#include "keel/base/copy.h"
#include "keel/data/internal/binary_fields.h"
#include "keel/data/internal/binary_numbers.h"
#include "keel/data/internal/binary_run.h"

namespace keel::binary::internal {
namespace {

// The maximum size of a head, or of a number with its head.
constexpr std::size_t value_room = 9;

[[gnu::always_inline]] inline void put_text(char* to, const char* from, std::size_t size) noexcept {
  if (size >= 8) {
    copy_short(to, from, size);
  } else if (size >= 4) {
    keel::internal::copy_ends<4>(to, from, size);
  } else if (size != 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
}
// The copy may take more bytes than the key has; the buffer always has space for these bytes.
[[gnu::always_inline]] inline char* put_key(char* to, const Step& step) noexcept {
  char first[key_slack];
  std::memcpy(first, step.key, sizeof first);
  std::memcpy(to, first, sizeof first);
  if (step.size > sizeof first) [[unlikely]]
    std::memcpy(to + sizeof first, step.key + sizeof first, step.size - sizeof first);
  return to + step.size;
}

// If the value can be written without a call, writes it, in at most value_room bytes.
template <class Format>
[[gnu::always_inline]] inline bool put(char*& at, Form form, const void* field) noexcept {
  switch (form) {
    case Form::Boolean:
      *at++ = *static_cast<const bool*>(field) ? Format::true_byte : Format::false_byte;
      return true;
    case Form::Int32:
      at = put_integer<Format>(at, *static_cast<const std::int32_t*>(field));
      return true;
    case Form::Int64:
      at = put_integer<Format>(at, *static_cast<const std::int64_t*>(field));
      return true;
    case Form::Uint32:
      at = Format::put(at, Token::Unsigned, *static_cast<const std::uint32_t*>(field));
      return true;
    case Form::Uint64:
      at = Format::put(at, Token::Unsigned, *static_cast<const std::uint64_t*>(field));
      return true;
    case Form::Double:
      at = put_double(Format(), at, *static_cast<const double*>(field));
      return true;
    default:
      return false;
  }
}
[[gnu::always_inline]] inline bool has_text(Form form) noexcept { return form == Form::View || form == Form::String; }
[[gnu::always_inline]] inline std::string_view text_of(Form form, const void* field) noexcept {
  if (form == Form::View) return *static_cast<const std::string_view*>(field);
  return *static_cast<const std::string*>(field);
}

// Writes a text; the buffer must have space for the head and the bytes of the text. Returns false for a text of 4 GiB
// or more.
template <class Format>
[[gnu::always_inline]] inline bool put_any_text(char*& at, std::string_view text) noexcept {
  if (text.size() < Format::text_heads) [[likely]] {
    *at = static_cast<char>(Format::text_byte + text.size());
    put_text(at + 1, text.data(), text.size());
    at += 1 + text.size();
    return true;
  }
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) return false;
  at = Format::put(at, Token::Text, text.size());
  std::memcpy(at, text.data(), text.size());
  at += text.size();
  return true;
}

template <class Format>
[[gnu::always_inline]] inline void write_member(Writer<Format>& out, Run& run, const Step& step,
                                                const WriteField<Format>* write, void* const* fields) {
  const void* const field = fields[step.field];
  const Form form = step.form;
  if (has_text(form)) {
    const std::string_view text = text_of(form, field);
    run.reserve(step.size + key_slack + value_room + text.size());
    run.at() = put_key(run.at(), step);
    if (put_any_text<Format>(run.at(), text)) [[likely]]
      return;
  } else {
    run.reserve(step.size + key_slack + value_room);
    run.at() = put_key(run.at(), step);
    if (put<Format>(run.at(), form, field)) return;
  }
  run.finish();
  write[step.field](out, field);
  run.go_on(0);
}

bool is_absent(bool (*const* absent)(const void* field), std::size_t i, void* const* fields) {
  return absent != nullptr && absent[i] != nullptr && absent[i](fields[i]);
}

}  // namespace

template <class Format>
void Access<Format>::write_object(Out& out, const WriteTable<Format>& table, void* const* fields, Tag tag) {
  if (!tag.name.empty() || table.is_absent != nullptr) [[unlikely]] {
    return write_some(out, table, fields, tag);
  }
  Run run(out.out_, value_room);
  run.at() = Format::put(run.at(), Token::Map, table.count);
  const Step* const last = table.steps + table.count;
  for (const Step* step = table.steps; step != last; ++step) {
    write_member(out, run, *step, table.write, fields);
  }
  run.finish();
}

// Writes the members that are not absent, and the tag.
template <class Format>
void Access<Format>::write_some(Out& out, const WriteTable<Format>& table, void* const* fields, Tag tag) {
  std::size_t count = table.count + (tag.name.empty() ? 0 : 1);
  for (std::size_t i = 0; i < table.count; ++i) {
    if (is_absent(table.is_absent, i, fields)) --count;
  }
  Run run(out.out_, value_room);
  run.at() = Format::put(run.at(), Token::Map, count);
  const auto write_tag = [&] {
    run.finish();
    out.key(tag.name).string(tag.value);
    run.go_on(0);
    tag = {};
  };
  for (std::size_t place = 0; place < table.count; ++place) {
    const Step& step = table.steps[place];
    const std::string_view name = table.names[step.field];
    const std::string_view other = tag.name;
    if (!other.empty() && (other.size() != name.size() ? other.size() < name.size() : other < name)) write_tag();
    if (is_absent(table.is_absent, step.field, fields)) continue;
    write_member(out, run, step, table.write, fields);
  }
  if (!tag.name.empty()) write_tag();
  run.finish();
}

template <class Format>
void Access<Format>::write_elements(Out& out, const ElementTable<Format>& table, const void* first, std::size_t count) {
  const bool is_short = count < Format::container_heads;
  if (!is_short) out.begin_array(count);
  Run run(out.out_, 1);
  if (is_short) *run.at()++ = static_cast<char>(Format::array_byte + count);
  for (const auto* at = static_cast<const std::byte*>(first); count > 0; --count, at += table.stride) {
    if (has_text(table.form)) {
      const std::string_view text = text_of(table.form, at);
      run.reserve(value_room + text.size());
      if (put_any_text<Format>(run.at(), text)) [[likely]]
        continue;
    } else {
      run.reserve(value_room);
      if (put<Format>(run.at(), table.form, at)) continue;
    }
    run.finish();
    table.write(out, at);
    run.go_on(0);
  }
  run.finish();
}

template void Access<Cbor>::write_object(Out&, const WriteTable<Cbor>&, void* const*, Tag);
template void Access<MessagePack>::write_object(Out&, const WriteTable<MessagePack>&, void* const*, Tag);
template void Access<Cbor>::write_some(Out&, const WriteTable<Cbor>&, void* const*, Tag);
template void Access<MessagePack>::write_some(Out&, const WriteTable<MessagePack>&, void* const*, Tag);
template void Access<Cbor>::write_elements(Out&, const ElementTable<Cbor>&, const void*, std::size_t);
template void Access<MessagePack>::write_elements(Out&, const ElementTable<MessagePack>&, const void*, std::size_t);

}  // namespace keel::binary::internal
