// Writes structs and lists by their tables.

#include <cstring>
#include <limits>
#include <string>

#include "keel/base/copy.h"
#include "keel/data/internal/binary_fields.h"
#include "keel/data/internal/binary_numbers.h"
#include "keel/data/internal/binary_run.h"

namespace keel::binary::internal {
namespace {

// The most bytes of a head or of a number.
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
// More bytes can be read after it, because there is space to write.
[[gnu::always_inline]] inline char* put_key(char* to, const Step& step) noexcept {
  char first[key_slack];
  std::memcpy(first, step.key, sizeof first);
  std::memcpy(to, first, sizeof first);
  if (step.size > sizeof first) [[unlikely]]
    std::memcpy(to + sizeof first, step.key + sizeof first, step.size - sizeof first);
  return to + step.size;
}

// Writes the value if that needs no call, for which value_room is sufficient.
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
  return form == Form::View ? *static_cast<const std::string_view*>(field)
                            : std::string_view(*static_cast<const std::string*>(field));
}

}  // namespace

template <class Format>
void Access<Format>::write_object(Out& out, const WriteTable<Format>& table, void* const* fields, Tag tag) {
  std::size_t count = table.count + (tag.name.empty() ? 0 : 1);
  if (table.is_absent != nullptr) [[unlikely]] {
    for (std::size_t i = 0; i < table.count; ++i) {
      if (table.is_absent[i] != nullptr && table.is_absent[i](fields[i])) --count;
    }
  }
  Run run(out.out_, value_room);
  run.at() = Format::put(run.at(), Token::Map, count);
  for (std::size_t place = 0; place < table.count; ++place) {
    const Step& step = table.steps[place];
    const std::size_t i = step.field;
    if (!tag.name.empty()) [[unlikely]] {
      const std::string_view name = table.names[i];
      if (tag.name.size() != name.size() ? tag.name.size() < name.size() : tag.name < name) {
        run.finish();
        out.key(tag.name).string(tag.value);
        run.go_on(0);
        tag = {};
      }
    }
    if (table.is_absent != nullptr && table.is_absent[i] != nullptr && table.is_absent[i](fields[i])) continue;
    const Form form = table.forms[i];
    if (has_text(form)) {
      const std::string_view text = text_of(form, fields[i]);
      run.reserve(step.size + key_slack + value_room + text.size());
      char* const behind = put_key(run.at(), step);
      if (text.size() < Format::text_heads) [[likely]] {
        *behind = static_cast<char>(Format::text_byte + text.size());
        put_text(behind + 1, text.data(), text.size());
        run.at() = behind + 1 + text.size();
        continue;
      }
      run.at() = behind;
      if (text.size() > std::numeric_limits<std::uint32_t>::max()) [[unlikely]] {
        run.finish();
        out.string(text);
        run.go_on(0);
        continue;
      }
      run.at() = Format::put(behind, Token::Text, text.size());
      std::memcpy(run.at(), text.data(), text.size());
      run.at() += text.size();
      continue;
    }
    run.reserve(step.size + key_slack + value_room);
    run.at() = put_key(run.at(), step);
    if (put<Format>(run.at(), form, fields[i])) continue;
    run.finish();
    table.write[i](out, fields[i]);
    run.go_on(0);
  }
  run.finish();
  if (!tag.name.empty()) [[unlikely]]
    out.key(tag.name).string(tag.value);
}

template <class Format>
void Access<Format>::write_elements(Out& out, const ElementTable<Format>& table, const void* first, std::size_t count) {
  out.begin_array(count);
  Run run(out.out_, 0);
  for (const auto* at = static_cast<const std::byte*>(first); count > 0; --count, at += table.stride) {
    if (has_text(table.form)) {
      const std::string_view text = text_of(table.form, at);
      if (text.size() < Format::text_heads) [[likely]] {
        run.reserve(text.size() + 1);
        *run.at() = static_cast<char>(Format::text_byte + text.size());
        put_text(run.at() + 1, text.data(), text.size());
        run.at() += text.size() + 1;
        continue;
      }
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
template void Access<Cbor>::write_elements(Out&, const ElementTable<Cbor>&, const void*, std::size_t);
template void Access<MessagePack>::write_elements(Out&, const ElementTable<MessagePack>&, const void*, std::size_t);

}  // namespace keel::binary::internal
