// keel/net/messages/message.h — messages: structs with a type number, which are encoded as CBOR.
//
//   struct Reading {
//     static constexpr std::uint16_t message_type = 1;         // identifies the type to the peer: must never change
//     std::string device;
//     double celsius = 0;
//   };
//   template <>                                                // for a type that you cannot change
//   inline constexpr std::uint16_t keel::messages::message_type_of<Point> = 2;
//
// A reply has no number, because the request determines its type. If a reply is a std::string or a Buffer, its bytes
// are the payload. Raw{type, bytes} is a message with any bytes as its payload.
//
// Threads: functions.
// Cost:    as in cbor.h.

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/data/cbor.h"

namespace keel::messages {

// 1 to type_max. Larger numbers are reserved for Keel.
inline constexpr std::uint16_t type_max = 0xfeff;

namespace internal {
template <class M>
consteval std::uint16_t declared_type() {
  if constexpr (requires {
                  { M::message_type } -> std::convertible_to<std::uint16_t>;
                }) {
    static_assert(M::message_type > 0 && M::message_type <= type_max, "a message_type must be from 1 to 0xfeff");
    return M::message_type;
  } else {
    static_assert(std::is_void_v<M>,
                  "a message needs a number that identifies its type to the peer: add to the struct: "
                  "static constexpr std::uint16_t message_type = 1;");
    return 0;
  }
}
// GCC 12 destroys an aggregate twice if the aggregate is made within an awaited expression (task/compiler_test.cc).
template <class M>
constexpr void refuse_made_in_call() noexcept {
  static_assert(
      std::is_reference_v<M> || !std::is_aggregate_v<M> || std::is_trivially_destructible_v<M>,
      "pass a message as a named variable, not a temporary: const Reading reading{...}; co_await peer.send(reading)");
}
}  // namespace internal

// The number that M declares.
template <class M>
inline constexpr std::uint16_t message_type_of = internal::declared_type<M>();

// A message of type `type` whose payload is `bytes`.
struct Raw {
  std::uint16_t type = 0;
  std::string_view bytes = {};
};

// Appends the payload of a message or reply to `out`.
template <class T>
void encode(Buffer& out, const T& value) {
  if constexpr (std::same_as<T, Raw>) {
    out.append(value.bytes);
  } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
    out.append(value);
  } else if constexpr (std::same_as<T, Buffer>) {
    out.append(value.view());
  } else {
    cbor::write(out, value);
  }
}

// InvalidArgument: the error's message lists everything that is wrong.
template <class T>
Result<T> decode(std::string_view payload) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else if constexpr (std::same_as<T, std::string>) {
    return std::string(payload);
  } else if constexpr (std::same_as<T, Buffer>) {
    Buffer bytes;
    bytes.append(payload);
    return bytes;
  } else {
    constexpr bool holds_views = json::internal::holds_views<T>();
    static_assert(!holds_views,
                  "a received message or reply outlives the bytes that it was read from: replace each "
                  "std::string_view in the struct by a std::string");
    if constexpr (holds_views) {
      return T();
    } else {
      return cbor::parse<T>(payload);
    }
  }
}

// The type number of `message`.
template <class M>
constexpr std::uint16_t type_of(const M& message) noexcept {
  if constexpr (std::same_as<M, Raw>) {
    return message.type;
  } else {
    return message_type_of<M>;
  }
}

}  // namespace keel::messages
