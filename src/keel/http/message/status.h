// keel/http/message/status.h — status codes, their phrases and their status lines.
//
// Status is any number from 100 to 599; the enumerators are the codes registered at IANA (those of RFC 9110 §15 and of
// its extensions). A response may have a code that is not registered; the phrase of an unregistered code is empty.
//
// Cost: a table lookup; status_line() returns a line from the table.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel::http {

enum class Status : std::uint16_t {
  Continue = 100,
  SwitchingProtocols = 101,
  Processing = 102,
  EarlyHints = 103,
  Ok = 200,
  Created = 201,
  Accepted = 202,
  NonAuthoritativeInformation = 203,
  NoContent = 204,
  ResetContent = 205,
  PartialContent = 206,
  MultiStatus = 207,
  AlreadyReported = 208,
  ImUsed = 226,
  MultipleChoices = 300,
  MovedPermanently = 301,
  Found = 302,
  SeeOther = 303,
  NotModified = 304,
  UseProxy = 305,
  TemporaryRedirect = 307,
  PermanentRedirect = 308,
  BadRequest = 400,
  Unauthorized = 401,
  PaymentRequired = 402,
  Forbidden = 403,
  NotFound = 404,
  MethodNotAllowed = 405,
  NotAcceptable = 406,
  ProxyAuthenticationRequired = 407,
  RequestTimeout = 408,
  Conflict = 409,
  Gone = 410,
  LengthRequired = 411,
  PreconditionFailed = 412,
  ContentTooLarge = 413,
  UriTooLong = 414,
  UnsupportedMediaType = 415,
  RangeNotSatisfiable = 416,
  ExpectationFailed = 417,
  MisdirectedRequest = 421,
  UnprocessableContent = 422,
  Locked = 423,
  FailedDependency = 424,
  TooEarly = 425,
  UpgradeRequired = 426,
  PreconditionRequired = 428,
  TooManyRequests = 429,
  RequestHeaderFieldsTooLarge = 431,
  UnavailableForLegalReasons = 451,
  InternalServerError = 500,
  NotImplemented = 501,
  BadGateway = 502,
  ServiceUnavailable = 503,
  GatewayTimeout = 504,
  HttpVersionNotSupported = 505,
  VariantAlsoNegotiates = 506,
  InsufficientStorage = 507,
  LoopDetected = 508,
  NotExtended = 510,
  NetworkAuthenticationRequired = 511,
};

// The reason phrase, such as "Not Found"; empty for a code that is not registered. Static storage.
std::string_view reason(Status status) noexcept;
// The status line of a response: "HTTP/1.1 404 Not Found\r\n" for NotFound. Static storage. A code outside 100 to 599
// is a bug and aborts.
std::string_view status_line(Status status) noexcept;
inline constexpr int status_line_bytes_max = 47;

constexpr int number(Status status) noexcept { return static_cast<int>(status); }
// Whether a response with this status never has content (RFC 9110 §6.4.1): 1xx, 204 and 304.
constexpr bool forbids_content(Status status) noexcept {
  return number(status) < 200 || status == Status::NoContent || status == Status::NotModified;
}

}  // namespace keel::http
