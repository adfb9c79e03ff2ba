// Writes a Record as CBOR and MessagePack, and reads a Record from these formats.

#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "keel/data/decimal.h"
#include "keel/data/internal/binary_fields.h"
#include "keel/data/internal/binary_numbers.h"
#include "keel/data/internal/binary_run.h"
#include "keel/data/internal/binary_texts.h"
#include "keel/data/internal/record_forms.h"
#include "keel/data/record.h"
#include "keel/data/utf8.h"

namespace keel {
namespace {

using binary::Cbor;
using binary::MessagePack;
using binary::internal::Head;
using binary::internal::Token;
using binary::internal::unknown_count;

}  // namespace

template <class Format>
struct Record::Forms::BinarySink {
  static constexpr bool is_ordered = true;
  // Space for a short text and its head, which are copied together, or for any scalar.
  static constexpr std::size_t short_room = 32;
  static_assert(Value::short_max < Format::text_heads);
  binary::Writer<Format>& writer;
  binary::internal::Run run{binary::internal::Access<Format>::buffer(writer), 0};

  void begin(bool is_record, std::size_t size) {
    run.reserve(short_room);
    run.at() = Format::put(run.at(), is_record ? Token::Map : Token::Array, size);
  }
  void end(bool) noexcept {}
  void finish() noexcept { run.finish(); }
  void name(const Value& key) {
    run.reserve(2 * short_room);
    text(Token::Text, key);
  }
  // The caller must have reserved short_room bytes of space.
  void text(Token token, const Value& value) {
    const std::size_t size = value.bytes_[1];
    if (size > Value::short_max) [[unlikely]]
      return long_text(token, value.text());
    char* at = run.at();
    if (token == Token::Text) {
      *at++ = static_cast<char>(Format::text_byte + size);
    } else {
      at = Format::put(at, token, size);
    }
    std::memcpy(at, value.bytes_ + 2, Value::short_max);
    run.at() = at + size;
  }
  [[gnu::noinline]] void long_text(Token token, std::string_view text) {
    run.reserve(text.size() + 3 * short_room);
    char* const at = Format::put(run.at(), token, text.size());
    copy_short(at, text.data(), text.size());
    run.at() = at + text.size();
  }
  void scalar(const Value& value) {
    run.reserve(short_room);
    char*& at = run.at();
    switch (value.kind()) {
      case Kind::Null:
        *at++ = Format::null_byte;
        return;
      case Kind::Boolean:
        *at++ = value.payload<std::uint64_t>() != 0 ? Format::true_byte : Format::false_byte;
        return;
      case Kind::Int8:
      case Kind::Int16:
      case Kind::Int32:
      case Kind::Int64:
        at = binary::internal::put_integer<Format>(at, value.payload<std::int64_t>());
        return;
      case Kind::Uint8:
      case Kind::Uint16:
      case Kind::Uint32:
      case Kind::Uint64:
        at = Format::put(at, Token::Unsigned, value.payload<std::uint64_t>());
        return;
      case Kind::Double:
        at = binary::internal::put_double(Format(), at, value.payload<double>());
        return;
      case Kind::String:
        return text(Token::Text, value);
      case Kind::Bytes:
        return text(Token::Bytes, value);
      case Kind::Uuid: {
        const auto id = value.payload<keel::Uuid>();
        if constexpr (std::is_same_v<Format, Cbor>) at = Cbor::put(at, Token::Tag, 37);
        at = Format::put(at, Token::Bytes, id.bytes().size());
        std::memcpy(at, id.bytes().data(), id.bytes().size());
        at += id.bytes().size();
        return;
      }
      case Kind::Time: {
        const auto time = value.payload<Timestamp>();
        if constexpr (std::is_same_v<Format, Cbor>) {
          if (time.nanosecond() == 0) {
            at = binary::internal::put_integer<Format>(Cbor::put(at, Token::Tag, 1), time.unix_seconds());
            return;
          }
        }
        run.finish();
        writer.timestamp(time);
        return run.go_on(short_room);
      }
      default:
        run.finish();
        writer.single(static_cast<float>(value.payload<double>()));
        return run.go_on(short_room);
    }
  }
};

// Builds a Record from bytes that the Reader's skip() has found to be well-formed: lengths and counts are right, and
// texts are UTF-8.
template <class Format>
struct Record::Forms::BinaryBuilder {
  using Access = binary::internal::Access<Format>;
  binary::Reader<Format>& in;
  Arena* arena;
  const char* end = Access::end(in);
  const char* wrong = nullptr;  // The beginning of the value that a Record cannot represent.

  // False: a Record cannot represent one of the values; `block` contains the values before that value.
  bool items(const char*& at, std::uint64_t count, bool is_record, Block*& block) {
    const char* const begin = at;
    const bool is_open = count == unknown_count;
    if (!is_open && count != 0) block = Storage::make(arena, is_record, static_cast<std::size_t>(count));
    std::string_view before;
    for (; is_open ? *at != '\xFF' : count != 0; --count) {
      if (is_open) block = Storage::grow(block, is_record, arena);
      if (!is_record) {
        if (!value(at, Storage::push_back(block, arena))) return false;
        continue;
      }
      const std::string_view key = name(at);
      // If a key was encoded in pieces, the pieces have been joined elsewhere in memory.
      const char* const key_end = at != nullptr && key.data() + key.size() == at ? end : key.data() + key.size();
      if (at == nullptr) {
        wrong = end;  // No value begins at `end`, so tell_at() reads on until the Reader itself reports the wrong key.
        return false;
      }
      Value* const to = block->values() + block->value_count();
      Storage::set_text(*::new (to) Value(), Kind::String, key.data(), key.size(), key_end, arena);
      ::new (to + 1) Value();
      if (block->size++ != 0 && block->is_sorted) block->is_sorted = Block::is_before(before, key);
      before = key;
      if (!value(at, to[1])) return false;
    }
    if (is_open) ++at;
    if (block == nullptr) return true;
    const std::size_t second = block->seal();
    if (second == block->size) return true;
    wrong = member(begin, second);
    in.fail_malformed("is given twice");
    return false;
  }

  // Returns the position of a member's value.
  const char* member(const char* at, std::size_t index) {
    const auto pass = [&] {
      Access::position(in) = at;
      in.skip();
      at = Access::position(in);
    };
    for (std::size_t i = 0; i < index; ++i) {
      pass();
      pass();
    }
    pass();
    return at;
  }

  std::string_view name(const char*& at) {
    Head head;
    const char* const begin = at;
    at = Format::take(at, end, head);
    if (head.token == Token::Text && head.number != unknown_count) [[likely]] {
      const std::string_view text(at, static_cast<std::size_t>(head.number));
      at += text.size();
      return text;
    }
    if (head.token != Token::Text) {
      at = nullptr;
      return {};
    }
    Access::position(in) = begin;
    const std::string_view text = in.string();
    at = Access::position(in);
    return text;
  }

  // Reads the value at `at` by a function of the Reader.
  template <class F>
  bool ask(const char*& at, F&& f) {
    Access::position(in) = at;
    f();
    if (in.failed()) {
      wrong = at;
      return false;
    }
    at = Access::position(in);
    return true;
  }

  bool value(const char*& at, Value& to) {
    const char* const begin = at;
    Head head;
    at = Format::take(at, end, head);
    switch (head.token) {
      case Token::Unsigned:
        to.set(head.number >> 63 != 0 ? Kind::Uint64 : Kind::Int64, head.number);
        return true;
      case Token::Negative:
        if (head.number >> 63 != 0) break;
        to.set(Kind::Int64, ~head.number);
        return true;
      case Token::Text:
      case Token::Bytes: {
        const Kind kind = head.token == Token::Text ? Kind::String : Kind::Bytes;
        if (head.number == unknown_count) {
          at = begin;
          return ask(at, [&] {
            const std::string_view text = kind == Kind::String ? in.string() : view(in.bytes());
            Storage::set_text(to, kind, text, arena);
          });
        }
        Storage::set_text(to, kind, at, static_cast<std::size_t>(head.number), end, arena);
        at += head.number;
        return true;
      }
      case Token::Array:
      case Token::Map: {
        const bool is_record = head.token == Token::Map;
        Block* block = nullptr;
        const bool is_right = items(at, head.number, is_record, block);
        to.set(is_record ? Kind::Record : Kind::Array, block);
        return is_right;
      }
      case Token::Boolean:
        to.set(Kind::Boolean, head.number);
        return true;
      case Token::Null:
        return true;
      case Token::Real:
        to.set(std::is_same_v<Format, MessagePack> && at - begin == 5 ? Kind::Float : Kind::Double, head.number);
        return true;
      case Token::Tag:
        return tagged(begin, at, head.number, to);
      case Token::Extension:
        if (head.extension != -1) break;
        at = begin;
        return ask(at, [&] { to.set(Kind::Time, in.timestamp()); });
      default:
        break;
    }
    wrong = begin;
    in.fail(head.token == Token::Negative ? "number out of range" : "cannot be represented in a Record");
    return false;
  }

  bool tagged(const char* begin, const char*& at, std::uint64_t tag, Value& to) {
    switch (tag) {
      case 0:
      case 1:
        at = begin;
        return ask(at, [&] { to.set(Kind::Time, in.timestamp()); });
      case 2:
      case 3:
        at = begin;
        return ask(at, [&] {
          if (in.number_kind() == binary::NumberKind::Negative) {
            to.set(Kind::Int64, in.int64());
          } else {
            const std::uint64_t number = in.uint64();
            to.set(number >> 63 != 0 ? Kind::Uint64 : Kind::Int64, number);
          }
        });
      case 4:
        at = begin;
        return ask(at, [&] {
          Decimal number;
          read_binary(in, number);
          const Decimal::Text text = number.text();
          Storage::set_text(to, Kind::String, text.view(), arena);
        });
      case 37:
        at = begin;
        return ask(at, [&] { to.set(Kind::Uuid, in.uuid()); });
      default:
        return untagged(at, to);
    }
  }
  // Reads the value that follows a tag without a meaning. This is a loop and not recursion, because there may be more
  // tags than nesting levels.
  bool untagged(const char*& at, Value& to) {
    for (;;) {
      Head head;
      const char* const behind = Format::take(at, end, head);
      if (head.token != Token::Tag || head.number <= 4 || head.number == 37) return value(at, to);
      at = behind;
    }
  }
  static std::string_view view(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Reads, in one pass, a record that has few fields with short names. Containers and long texts are skipped at first;
  // their values are made once all bytes are known to be well-formed. For any other record, or for malformed bytes,
  // returns false without any effect: the caller then reads in two passes, which report errors.
  bool take_flat(const char*& at, std::uint64_t count, Block*& block) {
    if (count == 0 || count > Block::linear_max || Access::depth(in) == Access::depth_max(in)) return false;
    const Arena::Mark mark = arena != nullptr ? arena->mark() : Arena::Mark();
    Block* const made = Storage::make(arena, true, static_cast<std::size_t>(count));
    const char* const behind = fill_flat(at, *made, static_cast<std::size_t>(count));
    if (behind != nullptr && made->seal() == made->size) [[likely]] {
      at = behind;
      block = made;
      return true;
    }
    Storage::release(made, arena);
    if (arena != nullptr) arena->rewind(mark);
    Access::forget(in);
    return false;
  }

  const char* fill_flat(const char* at, Block& block, std::size_t count) {
    std::array<const char*, Block::linear_max> later;
    std::uint32_t is_later = 0;
    bool is_sorted = true;
    ++Access::depth(in);
    for (std::size_t i = 0; i < count; ++i) {
      Value* const to = block.values() + 2 * i;
      const char* const value_at = take_name(at, *::new (to) Value());
      if (value_at == nullptr) break;
      if (i != 0) is_sorted &= Block::is_before(to[-2], to[0]);
      ::new (to + 1) Value();
      ++block.size;
      at = take_short(value_at, to[1]);
      if (at != nullptr) continue;
      at = pass(value_at);
      if (at == nullptr) break;
      later[i] = value_at;
      is_later |= 1u << i;
    }
    --Access::depth(in);
    if (at == nullptr || block.size != count) return nullptr;
    for (; is_later != 0; is_later &= is_later - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(is_later));
      if (!value(later[i], block.values()[2 * i + 1])) return nullptr;
    }
    block.is_sorted = is_sorted;
    return at;
  }

  // Returns the end of the value at `at`; null if the value is malformed.
  const char* pass(const char* at) {
    Access::position(in) = at;
    in.skip();
    return in.failed() ? nullptr : Access::position(in);
  }

  static constexpr std::ptrdiff_t short_room = 1 + Value::short_max;

  // Returns the end of the key; null if the key is not a text, is too long, or is malformed.
  const char* take_name(const char* at, Value& to) {
    if (end - at >= short_room) [[likely]] {
      const std::size_t size = static_cast<std::uint8_t>(*at) - Format::text_byte;
      if (size <= Value::short_max && binary::internal::is_text(at, size)) [[likely]] {
        set_short(to, Kind::String, at + 1, size);
        return at + 1 + size;
      }
    }
    return take_short_text(at, to);
  }
  static void set_short(Value& to, Kind kind, const char* at, std::size_t size) noexcept {
    to.bytes_[0] = static_cast<unsigned char>(kind);
    to.bytes_[1] = static_cast<unsigned char>(size);
    std::memcpy(to.bytes_ + 2, at, Value::short_max);
  }

  // Returns the end of a value that has a common form and needs no memory; null for any other value.
  [[gnu::always_inline]] const char* take_short(const char* at, Value& to) noexcept {
    if (end - at < short_room) [[unlikely]]
      return take_last(at, to);
    const auto first = static_cast<std::uint8_t>(*at);
    const std::size_t size = first - Format::text_byte;
    if (size <= Value::short_max) {
      if (!binary::internal::is_text(at, size)) return nullptr;
      set_short(to, Kind::String, at + 1, size);
      return at + 1 + size;
    }
    std::uint64_t number = 0;
    if (const char* const behind = Format::take_count(at, number)) {
      to.set(Kind::Int64, number);
      return behind;
    }
    if (*at == Format::double_byte) {
      to.set(Kind::Double, binary::internal::big_endian<std::uint64_t>(at + 1));
      return at + 9;
    }
    if (*at == Format::null_byte) return at + 1;
    const auto truth = static_cast<std::uint8_t>(*at ^ Format::false_byte);
    if (truth <= 1) {
      to.set(Kind::Boolean, std::uint64_t{truth});
      return at + 1;
    }
    if (const char* const behind = take_typed(Format(), at, to)) return behind;
    return take_other(at, to);
  }
  // Reads times, UUIDs and the shortest doubles, if they have the form in which a Writer writes them.
  static const char* take_typed(Cbor, const char* at, Value& to) noexcept {
    if (*at == '\xC1') {
      std::uint64_t seconds = 0;
      const char* const behind = Cbor::take_count(at + 1, seconds);
      return behind != nullptr && set_time(to, static_cast<std::int64_t>(seconds)) ? behind : nullptr;
    }
    if (*at == '\xF9') {
      to.set(Kind::Double, binary::internal::half(binary::internal::big_endian<std::uint16_t>(at + 1)));
      return at + 3;
    }
    if (*at != '\xD8' || at[1] != 37 || at[2] != '\x50') return nullptr;
    set_uuid(to, at + 3);
    return at + 19;
  }
  static const char* take_typed(MessagePack, const char* at, Value& to) noexcept {
    if (*at != '\xD6' || at[1] != '\xFF') return nullptr;
    return set_time(to, binary::internal::big_endian<std::uint32_t>(at + 2)) ? at + 6 : nullptr;
  }
  static bool set_time(Value& to, std::int64_t seconds) noexcept {
    if (seconds < Timestamp::first().unix_seconds() || seconds > Timestamp::last().unix_seconds()) return false;
    to.set(Kind::Time, Timestamp::from_unix_seconds(seconds));
    return true;
  }
  static void set_uuid(Value& to, const char* at) noexcept {
    std::array<std::byte, 16> id;
    std::memcpy(id.data(), at, sizeof id);
    to.set(Kind::Uuid, keel::Uuid(id));
  }

  // Reads short byte strings, and the values that consist only of a head and that the functions above do not read.
  [[gnu::noinline]] const char* take_other(const char* at, Value& to) noexcept {
    Head head;
    const char* const behind = Format::take(at, end, head);
    if (behind == nullptr) return nullptr;
    switch (head.token) {
      case Token::Unsigned:
        to.set(head.number >> 63 != 0 ? Kind::Uint64 : Kind::Int64, head.number);
        return behind;
      case Token::Negative:
        if (head.number >> 63 != 0) return nullptr;
        to.set(Kind::Int64, ~head.number);
        return behind;
      case Token::Bytes:
        if (head.number > Value::short_max || head.number > static_cast<std::uint64_t>(end - behind)) return nullptr;
        Storage::set_text(to, Kind::Bytes, behind, static_cast<std::size_t>(head.number), end, nullptr);
        return behind + head.number;
      case Token::Boolean:
        to.set(Kind::Boolean, head.number);
        return behind;
      case Token::Null:
        return behind;
      case Token::Real:
        to.set(std::is_same_v<Format, MessagePack> && behind - at == 5 ? Kind::Float : Kind::Double, head.number);
        return behind;
      default:
        return nullptr;
    }
  }
  // Reads a value that is near the end of the bytes, and therefore checks each access.
  [[gnu::noinline]] const char* take_last(const char* at, Value& to) noexcept {
    if (at == end) return nullptr;
    const char* const behind = take_short_text(at, to);
    return behind != nullptr ? behind : take_other(at, to);
  }
  const char* take_short_text(const char* at, Value& to) noexcept {
    Head head;
    const char* const behind = at != end ? Format::take(at, end, head) : nullptr;
    if (behind == nullptr || head.token != Token::Text || head.number > Value::short_max) return nullptr;
    if (head.number > static_cast<std::uint64_t>(end - behind)) return nullptr;
    const std::string_view text(behind, static_cast<std::size_t>(head.number));
    if (!utf8::is_valid(text)) return nullptr;
    Storage::set_text(to, Kind::String, text, nullptr);
    return behind + text.size();
  }
};

template <class Format>
void Record::Forms::read(binary::Reader<Format>& in, Record& record) {
  using Access = binary::internal::Access<Format>;
  record.clear();
  if (in.peek() != binary::Kind::Object) {
    in.begin_object();  // Reports that the value is not an object.
    return;
  }
  const char* const begin = Access::position(in);
  BinaryBuilder<Format> builder{in, record.arena_};
  Head head;
  const char* const first = Format::take(begin, builder.end, head);
  const char* at = first;
  if (builder.take_flat(at, head.number, record.fields_)) [[likely]] {
    Access::took(in, begin, at);
    return;
  }
  Access::position(in) = begin;
  in.skip();
  if (in.failed()) return;
  const char* const behind = Access::position(in);
  at = first;
  if (builder.items(at, head.number, true, record.fields_)) {
    Access::took(in, begin, behind);
    return;
  }
  record.clear();
  Access::tell_at(in, begin, builder.wrong);
}

void Record::read(binary::Reader<Cbor>& in) { Forms::read(in, *this); }
void Record::read(binary::Reader<MessagePack>& in) { Forms::read(in, *this); }
void Record::write(binary::Writer<Cbor>& out) const { Forms::write(*this, Forms::BinarySink<Cbor>{out}); }
void Record::write(binary::Writer<MessagePack>& out) const { Forms::write(*this, Forms::BinarySink<MessagePack>{out}); }

}  // namespace keel
