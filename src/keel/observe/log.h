// keel/observe/log.h — structured log lines: a constant message, typed fields, a component.
//
//   log::Logger log("http.server");                                  // one per class, component fixed
//   log.info("listening", log::field("address", text), log::field("workers", count));
//   log::Logger request_log = log.with(log::field("request", id));   // these fields come with every line
//   request_log.error("query failed", error, log::field("statement", "find_user"));
//   log.info("order created", order);                                // a struct: id=7 customer=ann state=Open
//
// A struct (data/fields.h) adds its fields under their names: bool, numbers, text, Duration, enums by the name of their
// value (or by its number if it has no name), types that are written as text (base/text_value.h), and std::optional of
// all these types; an empty std::optional is left out. A struct that contains a list, another struct or a
// config::Secret does not compile, so that no data is logged by accident. A password in a std::string is logged like
// any text: use a config::Secret.
//
// Recording copies the fields in binary into the thread's ring (observe/log_ring.h) and does nothing else: it formats
// no text, allocates nothing, and makes no system call. A LogWriter (telemetry/log_writer.h) turns records into lines
// later.
//
// Levels:    `error` means that a person has to act; `warn` means that the service does less than it should, and a
//            metric counts these cases; `info` means that a state has changed; `debug` is for details of single
//            requests.
//
// Ownership: messages, components and field names are literals, checked when compiled; field values are copied.
//            A string is truncated to string_bytes_max; a record that is larger than half of its ring is dropped and
//            counted.
// Threads:   any; one Logger may be used by several threads concurrently (with() included).
// Cost:      a disabled level costs one relaxed load. A line of three to five fields takes 5 ns; on a thread that is
//            not a worker, reading the clock takes 20 ns more. With KEEL_BARE=1, the arguments are evaluated, and
//            nothing else is done. A struct is first encoded in a block of the thread's pool, and copied from there.

#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "keel/base/ascii.h"
#include "keel/base/buffer.h"
#include "keel/base/check.h"
#include "keel/base/error.h"
#include "keel/base/host.h"
#include "keel/base/text_value.h"
#include "keel/base/time.h"
#include "keel/data/enum_names.h"
#include "keel/data/fields.h"
#include "keel/observe/internal/log_layout.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/span.h"

namespace keel::log {

#ifdef KEEL_BARE
// False in a build with KEEL_BARE, which records nothing.
inline constexpr bool is_recorded = false;
#else
inline constexpr bool is_recorded = true;
#endif

// The longest text of a field; a longer text is truncated to this length.
inline constexpr std::uint32_t string_bytes_max = 8192;
// The largest number of fields of a Logger.
inline constexpr int context_fields_max = 64;

namespace internal {
constexpr bool has_name_characters(std::string_view text) {
  for (const char c : text) {
    if (!(ascii::is_alphanumeric(c) || c == '_' || c == '.' || c == '-')) return false;
  }
  return true;
}
constexpr bool is_taken(std::string_view name) {
  for (std::string_view taken : {"time", "level", "component", "message", "trace", "source"}) {
    if (taken == name) return true;
  }
  return false;
}
constexpr bool is_name(std::string_view text) {
  return !text.empty() && text.size() < 64 && has_name_characters(text) && !is_taken(text);
}
}  // namespace internal

// A field or component name: a literal of [A-Za-z0-9_.-], except the names of the fields that every line has.
class Name {
 public:
  template <std::size_t N>
  consteval Name(const char (&text)[N]) : text_(text), size_(N - 1) {
    if (N < 2 || N > 64) throw "a name must have 1 to 63 characters";
    if (!internal::has_name_characters({text, N - 1})) throw "a name must consist of letters, digits, '_', '.' and '-'";
    if (internal::is_taken({text, N - 1})) throw "every line has this field already: choose another name";
  }
  constexpr const char* data() const { return text_; }
  constexpr std::uint32_t size() const { return size_; }
  constexpr std::string_view view() const { return {text_, size_}; }

 private:
  const char* text_;
  std::uint32_t size_;
};

// The message of a line: a literal, with the place where it is written.
class Message {
 public:
  template <std::size_t N>
  consteval Message(const char (&text)[N], std::source_location where = std::source_location::current())
      : text_(text), size_(N - 1), where_(where) {
    if (N < 2 || N > 1024) throw "a message must have 1 to 1023 characters";
  }
  constexpr std::string_view view() const { return {text_, size_}; }
  constexpr std::source_location where() const { return where_; }
  // The message with another place, for code that logs on behalf of its caller.
  constexpr Message at(std::source_location where) const {
    Message moved = *this;
    moved.where_ = where;
    return moved;
  }

 private:
  const char* text_;
  std::uint16_t size_;
  std::source_location where_;
};

// A name and a value of one of the seven kinds; made by field(). Use a Field only within the expression that makes it.
template <class T>
struct Field {
  Name name;
  T value;
};

// bool, integers, double, anything that is a string_view, Duration (written in seconds), Error.
template <class T>
auto field(Name name, const T& value) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return Field<bool>{name, value};
  } else if constexpr (std::is_same_v<T, Duration>) {
    return Field<Duration>{name, value};
  } else if constexpr (std::is_same_v<T, Error>) {
    return Field<const Error*>{name, &value};
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return Field<std::string_view>{name, std::string_view(value)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return Field<double>{name, static_cast<double>(value)};
  } else {
    static_assert(std::is_integral_v<T> && !std::is_same_v<T, char>,
                  "a field must be a bool, an integer, a floating-point number, text, a Duration or an Error");
    if constexpr (std::is_signed_v<T>) {
      return Field<std::int64_t>{name, value};
    } else {
      return Field<std::uint64_t>{name, value};
    }
  }
}

namespace internal {

template <class T>
inline constexpr bool is_field = std::is_same_v<T, Error>;
template <class T>
inline constexpr bool is_field<Field<T>> = true;
template <class T>
concept LoggedStruct =
    !is_field<T> && std::is_class_v<T> && !std::is_convertible_v<const T&, std::string_view> &&
    (std::is_aggregate_v<T> || keel::internal::HasFieldList<T> || keel::internal::HasFieldListOutside<T>);

// Encodes fields for a record or a Logger, in the layout of log_layout.h.
struct Encoded {
  void add(std::string_view name, Kind kind, std::uint64_t word);
  void add(std::string_view name, std::string_view text);

  Buffer bytes;
  std::uint32_t count = 0;
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
void add_field(Encoded& to, std::string_view name, const T& value) {
  static_assert(
      !requires { value.reveal(); }, "a secret must not be logged: log the other fields one by one, with log::field()");
  if constexpr (std::is_same_v<T, bool>) {
    to.add(name, Kind::Bool, value);
  } else if constexpr (std::is_same_v<T, Duration>) {
    to.add(name, Kind::Duration, static_cast<std::uint64_t>(value.count_ns()));
  } else if constexpr (std::is_floating_point_v<T>) {
    to.add(name, Kind::Double, std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, char>) {
    to.add(name, std::is_signed_v<T> ? Kind::Int : Kind::Uint, static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_enum_v<T>) {
    if (const std::string_view text = enum_name(value); !text.empty()) {
      to.add(name, text);
    } else {
      add_field(to, name, static_cast<std::underlying_type_t<T>>(value));
    }
  } else if constexpr (TextValue<T>) {
    to.add(name, std::string_view(value.text()));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    to.add(name, std::string_view(value));
  } else if constexpr (is_optional<T>) {
    if (value) add_field(to, name, *value);
  } else {
    static_assert(
        requires { value.reveal(); },
        "a struct that is logged can have only bool, numbers, text, Duration, enums, types that are written as text "
        "(keel/base/text_value.h) and std::optional of these: log its fields one by one, with log::field()");
  }
}
template <class T>
consteval std::size_t count_of() {
  if constexpr (LoggedStruct<T>) return Fields<T>::count;
  return 1;
}
template <class T>
consteval bool are_log_names() {
  for (const std::string_view name : Fields<T>::names) {
    if (!is_name(name)) return false;
  }
  return true;
}

}  // namespace internal

// A component and its level. There is one Component for each name, and it lives as long as the process.
class Component {
 public:
  explicit Component(std::string_view name, Level level) noexcept : name_(name), level_(level) {}
  std::string_view name() const noexcept { return name_; }
  Level level() const noexcept { return level_.load(std::memory_order_relaxed); }
  void set_level(Level level) noexcept { level_.store(level, std::memory_order_relaxed); }

 private:
  std::string_view name_;
  std::atomic<Level> level_;
};

// From now on, records below `level` are not made. The first overload sets the level of all components, including
// future ones; the second sets the level of one component, even before its first Logger exists. May be called on any
// thread at any time. Start value: Info.
void set_level(Level level);
void set_level(std::string_view component, Level level);
// Calls `f` with every component, for the admin page; `f` must not make Loggers or set levels.
void each_component(FunctionRef<void(const Component&)> f);

std::string_view to_string(Level level) noexcept;  // "info"

// Writes the log lines of one component.
class Logger {
 public:
  // Finding or making the component takes a lock and a search, so make a Logger for each object, not for each request.
  explicit Logger(Name component);
  Logger(Logger&&) = default;
  Logger& operator=(Logger&&) = default;

  // Returns a Logger that adds `fields` to each of its lines. Copies the fields into a pooled block.
  template <class... T>
  Logger with(const Field<T>&... fields) const {
    Logger child(component_);
    if constexpr (is_recorded) {
      const std::uint32_t bytes = (0u + ... + bytes_of(fields));
      if (context_fields_ + sizeof...(fields) > context_fields_max) [[unlikely]]
        throw_bug("a Logger was given more than 64 fields by with()", std::source_location::current());
      child.context_.append(context_.view());
      char* at = child.context_.reserve(bytes);
      (encode(at, fields), ...);
      child.context_.commit(bytes);
      child.context_fields_ = static_cast<std::uint8_t>(context_fields_ + sizeof...(fields));
    }
    return child;
  }

  // The overload for arguments that contain structs.
  template <class... F>
    requires(!(internal::is_field<F> && ...))
  Logger with(const F&... fields) const {
    Logger child(component_);
    if constexpr (is_recorded) {
      internal::Encoded all;
      all.bytes.append(context_.view());
      all.count = context_fields_;
      (add(all, fields), ...);
      if (all.count > context_fields_max) [[unlikely]]
        throw_bug("a Logger was given more than 64 fields by with()", std::source_location::current());
      child.context_ = std::move(all.bytes);
      child.context_fields_ = static_cast<std::uint8_t>(all.count);
    }
    return child;
  }

  bool is_on(Level level) const noexcept { return is_recorded && level >= component_->level(); }

  template <class... F>
  void trace(Message message, const F&... fields) const {
    log(Level::Trace, message, fields...);
  }
  template <class... F>
  void debug(Message message, const F&... fields) const {
    log(Level::Debug, message, fields...);
  }
  template <class... F>
  void info(Message message, const F&... fields) const {
    log(Level::Info, message, fields...);
  }
  template <class... F>
  void warn(Message message, const F&... fields) const {
    log(Level::Warn, message, fields...);
  }
  template <class... F>
  void error(Message message, const F&... fields) const {
    log(Level::Error, message, fields...);
  }
  template <class... F>
  void fatal(Message message, const F&... fields) const {
    log(Level::Fatal, message, fields...);
  }

  // Logs at a level that is known only at run time: log.log(log_level(error.code()), "request failed", error). Each of
  // `fields` is a field(), an Error (logged as the field "error"), or a struct.
  template <class... F>
  void log(Level level, Message message, const F&... fields) const {
    if (!is_on(level)) return;
    if constexpr ((internal::is_field<F> && ...)) {
      record(level, message, as_field(fields)...);
    } else {
      static_assert((0 + ... + internal::count_of<F>()) <= 128,
                    "a log record can have at most 128 fields in addition to those of its Logger");
      internal::Encoded all;
      (add(all, fields), ...);
      record(level, message, all);
    }
  }

 private:
  explicit Logger(Component* component) noexcept : component_(component) {}

  template <class T>
  static const Field<T>& as_field(const Field<T>& f) noexcept {
    return f;
  }
  static Field<const Error*> as_field(const Error& e) noexcept { return {"error", &e}; }

  template <class T>
  static void add(internal::Encoded& to, const T& value) {
    if constexpr (internal::is_field<T>) {
      const auto& one = as_field(value);
      const std::uint32_t bytes = bytes_of(one);
      char* at = to.bytes.reserve(bytes);
      encode(at, one);
      to.bytes.commit(bytes);
      ++to.count;
    } else if constexpr (internal::LoggedStruct<T>) {
      static_assert(
          internal::are_log_names<T>(),
          "a field of a struct that is logged must have a name of ASCII letters and digits that is not time, level, "
          "component, message, trace or source, which every line has: log it with log::field(\"name\", value)");
      Fields<T>::visit(value, [&to](const auto&... each) {
        const std::string_view* name = Fields<T>::names.data();
        (internal::add_field(to, *name++, each), ...);
      });
    } else {
      static_assert(internal::LoggedStruct<T>,
                    "an argument of a log line must be log::field(\"name\", value), an Error, or a struct whose fields "
                    "are values");
    }
  }
  void record(Level level, Message message, const internal::Encoded& fields) const;

  template <class... T>
  void record(Level level, Message message, const Field<T>&... fields) const {
    static_assert(sizeof...(fields) <= 32,
                  "a log record can have at most 32 fields in addition to those of its Logger");
    write(level, message, (0u + ... + bytes_of(fields)), sizeof...(fields),
          [&](char*& at) { (encode(at, fields), ...); });
  }
  template <class Encode>
  [[gnu::always_inline]] void write(Level level, Message message, std::uint32_t own_bytes, std::size_t own_fields,
                                    Encode&& encode_own) const {
    const Span* const span = current_span();
    const TraceId trace = span != nullptr ? span->trace : TraceId();
    const std::uint32_t context_bytes = static_cast<std::uint32_t>(context_.size());
    const std::uint32_t bytes = static_cast<std::uint32_t>(sizeof(internal::RecordHeader)) +
                                (trace ? static_cast<std::uint32_t>(sizeof(TraceId)) : 0u) + context_bytes + own_bytes;
    internal::RingBody* const own = internal::current_ring;
    internal::RingBody& ring = own != nullptr ? *own : internal::acquire_shared();
    if (char* at = ring.reserve(bytes, level)) {
      new (at) internal::RecordHeader{
          bytes,
          static_cast<std::uint16_t>(message.view().size()),
          static_cast<std::uint8_t>(static_cast<std::uint8_t>(level) | (trace ? internal::has_trace : 0)),
          static_cast<std::uint8_t>(context_fields_ + own_fields),
          Host::current().wall_ns(),
          component_,
          message.view().data(),
          message.where()};
      at += sizeof(internal::RecordHeader);
      if (trace) {
        std::memcpy(at, &trace, sizeof trace);
        at += sizeof trace;
      }
      if (context_bytes != 0) {
        std::memcpy(at, context_.data(), context_bytes);
        at += context_bytes;
      }
      encode_own(at);
      ring.commit(bytes);
    }
    if (own == nullptr) {
      internal::release_shared();
    } else if (internal::has_commit_hook.load(std::memory_order_relaxed)) [[unlikely]] {
      internal::run_commit_hook(*own);
    }
  }

  static constexpr std::uint32_t text_bytes(std::size_t size) noexcept {
    return size < string_bytes_max ? static_cast<std::uint32_t>(size) : string_bytes_max;
  }
  template <class T>
  static std::uint32_t bytes_of(const Field<T>& f) noexcept {
    if constexpr (std::is_same_v<T, std::string_view>) {
      return 16 + internal::rounded(text_bytes(f.value.size()));
    } else if constexpr (std::is_same_v<T, const Error*>) {
      return 16 + internal::rounded(text_bytes(f.value->message().size()));
    } else {
      return 16;
    }
  }
  static void put(char*& at, std::uint64_t word) noexcept {
    std::memcpy(at, &word, sizeof word);
    at += sizeof word;
  }
  static void put_text(char*& at, std::string_view text) noexcept {
    const std::uint32_t bytes = text_bytes(text.size());
    if (bytes != 0) std::memcpy(at, text.data(), bytes);
    at += internal::rounded(bytes);
  }
  template <class T>
  static void encode(char*& at, const Field<T>& f) noexcept {
    using internal::Kind;
    const auto key = [&f](Kind kind) {
      return reinterpret_cast<std::uintptr_t>(f.name.data()) << 16 | f.name.size() << 8 |
             static_cast<std::uint64_t>(kind);
    };
    if constexpr (std::is_same_v<T, std::string_view>) {
      put(at, key(Kind::String));
      put(at, text_bytes(f.value.size()));
      put_text(at, f.value);
    } else if constexpr (std::is_same_v<T, const Error*>) {
      const std::string_view text = f.value->message();
      put(at, key(Kind::Error));
      put(at, static_cast<std::uint64_t>(f.value->errno_value()) << 40 |
                  static_cast<std::uint64_t>(f.value->code()) << 32 | text_bytes(text.size()));
      put_text(at, text);
    } else if constexpr (std::is_same_v<T, Duration>) {
      put(at, key(Kind::Duration));
      put(at, static_cast<std::uint64_t>(f.value.count_ns()));
    } else if constexpr (std::is_same_v<T, double>) {
      put(at, key(Kind::Double));
      put(at, std::bit_cast<std::uint64_t>(f.value));
    } else {
      put(at, key(std::is_same_v<T, bool> ? Kind::Bool : std::is_signed_v<T> ? Kind::Int : Kind::Uint));
      put(at, static_cast<std::uint64_t>(f.value));
    }
  }

  Component* component_;
  Buffer context_;
  std::uint8_t context_fields_ = 0;
};

}  // namespace keel::log
