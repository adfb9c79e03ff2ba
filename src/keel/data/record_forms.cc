// A Record as text, JSON, CBOR and MessagePack, which are views of one walk; and how it is read from them.

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>

#include "keel/base/buffer.h"
#include "keel/data/base64.h"
#include "keel/data/internal/binary_fields.h"
#include "keel/data/internal/binary_numbers.h"
#include "keel/data/internal/record_storage.h"
#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"
#include "keel/data/record.h"

namespace keel {
namespace {

using binary::Cbor;
using binary::MessagePack;
using binary::internal::Head;
using binary::internal::Token;
using binary::internal::unknown_count;

}  // namespace

struct Record::Forms {
  // Of each value in turn: begin(is_record, size), name(text) and scalar(value), end(is_record).
  template <class Sink>
  static void walk(const Block* block, bool is_record, Sink& sink, int depth) {
    KEEL_EXPECT(depth < depth_max, "a Record that is nested more than 64 deep is written");
    const std::size_t size = block != nullptr ? block->size : 0;
    sink.begin(is_record, size);
    std::array<std::uint8_t, Block::linear_max> few{};
    const bool is_sorted = !Sink::is_ordered || size < 2 || !is_record || block->is_sorted;
    if (!is_sorted && !block->has_order()) sort(block, few);
    for (std::size_t i = 0; i < size; ++i) {
      if (!is_record) {
        visit(block->values()[i], sink, depth);
        continue;
      }
      const std::size_t place = is_sorted ? i : block->has_order() ? block->order()[i] : few[i];
      sink.name(block->name(place), i == 0);
      visit(block->values()[2 * place + 1], sink, depth);
    }
    sink.end(is_record);
  }
  template <class Sink>
  static void visit(const Value& value, Sink& sink, int depth) {
    if (value.kind() < Kind::Array) [[likely]] {
      sink.scalar(value);
    } else {
      walk(value.block(), value.kind() == Kind::Record, sink, depth + 1);
    }
  }
  static void sort(const Block* block, std::array<std::uint8_t, Block::linear_max>& places) {
    for (std::size_t i = 0; i < block->size; ++i) {
      std::size_t at = i;
      for (; at > 0 && Block::is_before(block->name(i), block->name(places[at - 1])); --at) places[at] = places[at - 1];
      places[at] = static_cast<std::uint8_t>(i);
    }
  }

  template <class Format>
  struct BinarySink {
    static constexpr bool is_ordered = true;
    static constexpr std::size_t head_room = 9;
    binary::Writer<Format>& writer;
    Buffer& out = binary::internal::Access<Format>::buffer(writer);

    void begin(bool is_record, std::size_t size) {
      char* const at = out.reserve(head_room);
      out.commit(static_cast<std::size_t>(Format::put(at, is_record ? Token::Map : Token::Array, size) - at));
    }
    void end(bool) noexcept {}
    void name(std::string_view name, bool) { string(Token::Text, name); }
    void string(Token token, std::string_view text) {
      char* const begin = out.reserve(head_room + text.size());
      char* const at = Format::put(begin, token, text.size());
      copy_short(at, text.data(), text.size());
      out.commit(static_cast<std::size_t>(at - begin) + text.size());
    }
    void scalar(const Value& value) {
      char* const begin = out.reserve(head_room);
      char* at = begin;
      switch (value.kind()) {
        case Kind::Null:
          *at++ = Format::null_byte;
          break;
        case Kind::Boolean:
          *at++ = value.payload<std::uint64_t>() != 0 ? Format::true_byte : Format::false_byte;
          break;
        case Kind::Int8:
        case Kind::Int16:
        case Kind::Int32:
        case Kind::Int64:
          at = binary::internal::put_integer<Format>(at, value.payload<std::int64_t>());
          break;
        case Kind::Uint8:
        case Kind::Uint16:
        case Kind::Uint32:
        case Kind::Uint64:
          at = Format::put(at, Token::Unsigned, value.payload<std::uint64_t>());
          break;
        case Kind::Float:
          writer.single(static_cast<float>(value.payload<double>()));
          return;
        case Kind::Double:
          at = binary::internal::put_double(Format(), at, value.payload<double>());
          break;
        case Kind::String:
          return string(Token::Text, value.text());
        case Kind::Bytes:
          return string(Token::Bytes, value.text());
        case Kind::Time:
          writer.timestamp(value.payload<Timestamp>());
          return;
        default:
          writer.uuid(value.payload<keel::Uuid>());
          return;
      }
      out.commit(static_cast<std::size_t>(at - begin));
    }
  };

  struct JsonSink {
    static constexpr bool is_ordered = false;
    json::Writer& out;

    void begin(bool is_record, std::size_t) {
      if (is_record) {
        out.begin_object();
      } else {
        out.begin_array();
      }
    }
    void end(bool is_record) {
      if (is_record) {
        out.end_object();
      } else {
        out.end_array();
      }
    }
    void name(std::string_view name, bool) { out.key(name); }
    void scalar(const Value& value) {
      switch (value.kind()) {
        case Kind::Null:
          out.null();
          break;
        case Kind::Boolean:
          out.boolean(value.payload<std::uint64_t>() != 0);
          break;
        case Kind::Float:
        case Kind::Double:
          out.number(value.payload<double>());
          break;
        case Kind::String:
          out.string(value.text());
          break;
        case Kind::Bytes:
          out.string(base64::encode(*value.get_bytes({}), base64::Form::Url));
          break;
        case Kind::Time:
          out.string(value.payload<Timestamp>().text());
          break;
        case Kind::Uuid:
          out.string(value.payload<keel::Uuid>().text());
          break;
        default:
          if (value.kind() <= Kind::Int64) {
            out.integer(value.payload<std::int64_t>());
          } else {
            out.unsigned_integer(value.payload<std::uint64_t>());
          }
      }
    }
  };

  struct TextSink {
    static constexpr bool is_ordered = false;
    std::string& out;
    int depth = 0;
    bool is_first = true;

    void separate() {
      if (!is_first) out += ", ";
      is_first = false;
    }
    void begin(bool is_record, std::size_t) {
      if (depth++ != 0) {
        if (!is_named) separate();
        out += is_record ? '{' : '[';
      }
      is_named = false;
      is_first = true;
    }
    void end(bool is_record) {
      if (--depth != 0) out += is_record ? '}' : ']';
      is_first = false;
    }
    bool is_named = false;
    void name(std::string_view name, bool) {
      separate();
      bool is_word = !name.empty();
      for (const char c : name) {
        is_word = is_word && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                              c == '-' || static_cast<unsigned char>(c) >= 0x80);
      }
      if (is_word) {
        out += name;
      } else {
        quote(name);
      }
      out += ": ";
      is_named = true;
    }
    void quote(std::string_view text) {
      Buffer quoted;
      json::Writer(quoted).string(text);
      out += quoted.view();
    }
    void scalar(const Value& value) {
      if (!is_named) separate();
      is_named = false;
      switch (value.kind()) {
        case Kind::Null:
          out += "null";
          break;
        case Kind::Boolean:
          out += value.payload<std::uint64_t>() != 0 ? "true" : "false";
          break;
        case Kind::Float:
        case Kind::Double: {
          char digits[32];
          const auto number = value.payload<double>();
          const char* const end = value.kind() == Kind::Float
                                      ? std::to_chars(digits, digits + sizeof digits, static_cast<float>(number)).ptr
                                      : std::to_chars(digits, digits + sizeof digits, number).ptr;
          const std::string_view written(digits, end);
          out += written;
          if (std::isfinite(number) && written.find_first_of(".e") == written.npos) out += ".0";
          break;
        }
        case Kind::String:
          quote(value.text());
          break;
        case Kind::Bytes:
          out += "h'";
          for (const char c : value.text()) {
            out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
            out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
          }
          out += '\'';
          break;
        case Kind::Time:
          out += std::string_view(value.payload<Timestamp>().text());
          break;
        case Kind::Uuid:
          out += std::string_view(value.payload<keel::Uuid>().text());
          break;
        default:
          out += value.kind() <= Kind::Int64 ? std::to_string(value.payload<std::int64_t>())
                                             : std::to_string(value.payload<std::uint64_t>());
      }
    }
  };

  // What skip() of a Reader has found well-formed: every length and count is there, and every text UTF-8.
  template <class Format>
  struct BinaryBuilder {
    using Access = binary::internal::Access<Format>;
    binary::Reader<Format>& in;
    Arena* arena;
    const char* end = Access::end(in);
    const char* wrong = nullptr;  // The value that a Record cannot be made of.

    // False when it cannot; what has been made is in `block` all the same.
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
        // One that came in pieces lies elsewhere.
        const char* const key_end = at != nullptr && key.data() + key.size() == at ? end : key.data() + key.size();
        if (at == nullptr) {
          wrong = end;  // No value: looking for it finds the key.
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

    // Where the value of a member is.
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

    // By the Reader's own function for the value at `at`.
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
        case 37:
          at = begin;
          return ask(at, [&] { to.set(Kind::Uuid, in.uuid()); });
        default:
          return untagged(at, to);
      }
    }
    // Behind a tag without a meaning: there may be more of them than may be nested.
    bool untagged(const char*& at, Value& to) {
      for (;;) {
        Head head;
        const char* const behind = Format::take(at, end, head);
        if (head.token != Token::Tag || head.number <= 3 || head.number == 37) return value(at, to);
        at = behind;
      }
    }
    static std::string_view view(std::span<const std::byte> bytes) noexcept {
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
  };

  template <class Format>
  static void read(binary::Reader<Format>& in, Record& record) {
    using Access = binary::internal::Access<Format>;
    record.clear();
    if (in.peek() != binary::Kind::Object) {
      in.begin_object();  // Says what it is instead.
      return;
    }
    const char* at = Access::position(in);
    const char* const begin = at;
    in.skip();
    if (in.failed()) return;
    const char* const behind = Access::position(in);
    BinaryBuilder<Format> builder{in, record.arena_};
    Head head;
    at = Format::take(at, builder.end, head);
    if (builder.items(at, head.number, true, record.fields_)) {
      Access::position(in) = behind;
      return;
    }
    record.clear();
    Access::tell_at(in, begin, builder.wrong);
  }

  struct JsonBuilder {
    json::Reader& in;
    Arena* arena;
    int depth = 0;

    void object(Block*& block) {
      const json::Reader::Mark mark = in.mark();
      if (!in.begin_object()) return;
      while (const auto key = in.next_key()) {
        block = Storage::grow(block, true, arena);
        Value* const to = block->values() + block->value_count();
        Storage::set_text(*::new (to) Value(), Kind::String, *key, arena);
        ::new (to + 1) Value();
        if (block->size != 0 && block->is_sorted) {
          block->is_sorted = Block::is_before(block->name(block->size - 1), to->text());
        }
        ++block->size;
        value(to[1]);
      }
      if (in.failed() || block == nullptr) return;
      const std::size_t second = block->seal();
      if (second == block->size || !in.rewind(mark)) return;
      in.begin_object();
      for (std::size_t i = 0; i < second; ++i) {
        in.next_key();
        in.skip();
      }
      in.next_key();
      in.peek();
      in.fail_malformed("is given twice");
    }

    void value(Value& to) {
      switch (in.peek()) {
        case json::Kind::Null:
          in.null();
          break;
        case json::Kind::Boolean:
          to.set(Kind::Boolean, std::uint64_t{in.boolean()});
          break;
        case json::Kind::Number:
          number(to);
          break;
        case json::Kind::String:
          Storage::set_text(to, Kind::String, in.string(), arena);
          break;
        case json::Kind::Array:
        case json::Kind::Object: {
          const bool is_record = in.peek() == json::Kind::Object;
          if (depth == depth_max - 1) return in.fail_malformed("nested too deeply");
          ++depth;
          Block* block = nullptr;
          if (is_record) {
            object(block);
          } else {
            in.begin_array();
            while (in.next_element()) value(Storage::push_back(block, arena));
          }
          to.set(is_record ? Kind::Record : Kind::Array, block);
          --depth;
          break;
        }
        case json::Kind::None:
          in.skip();  // Says what it is instead.
      }
    }

    void number(Value& to) {
      const std::string_view text = in.number_text();
      if (in.failed()) return;
      const char* const end = text.data() + text.size();
      if (text.find_first_of(".eE") == text.npos && text != "-0") {  // -0 is a double.
        std::int64_t whole = 0;
        if (std::from_chars(text.data(), end, whole).ec == std::errc()) return to.set(Kind::Int64, whole);
        std::uint64_t large = 0;
        if (std::from_chars(text.data(), end, large).ec == std::errc()) return to.set(Kind::Uint64, large);
      }
      double real = 0;
      if (std::from_chars(text.data(), end, real).ec != std::errc() || !std::isfinite(real)) {
        return in.fail("number out of range", nullptr, "format");
      }
      to.set(Kind::Double, real);
    }
  };

  template <class Sink>
  static void write(const Record& record, Sink&& sink) {
    walk(record.fields_, true, sink, 0);
  }
};

void Record::read(json::Reader& in) {
  clear();
  Forms::JsonBuilder{in, arena_}.object(fields_);
  if (in.failed()) clear();
}
void Record::read(binary::Reader<Cbor>& in) { Forms::read(in, *this); }
void Record::read(binary::Reader<MessagePack>& in) { Forms::read(in, *this); }
void Record::write(json::Writer& out) const { Forms::write(*this, Forms::JsonSink{out}); }
void Record::write(binary::Writer<Cbor>& out) const { Forms::write(*this, Forms::BinarySink<Cbor>{out}); }
void Record::write(binary::Writer<MessagePack>& out) const { Forms::write(*this, Forms::BinarySink<MessagePack>{out}); }

std::string Record::text() const {
  std::string out;
  Forms::write(*this, Forms::TextSink{out});
  return out;
}

}  // namespace keel
