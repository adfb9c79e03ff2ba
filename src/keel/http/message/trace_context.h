// keel/http/message/trace_context.h — the field traceparent of W3C Trace Context (level 1), by which a service tells
// another service the trace to which a request belongs.
//
//   traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
//                version, trace, the caller's own part of it, flags
//
// Threads: functions.
// Cost:    one pass over the bytes; only the buffer to which the line is appended may allocate.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/observe/span.h"

namespace keel::http {

// The trace that a value of traceparent names; nullopt when the value is invalid: malformed, with capital letters, with
// a trace or a caller of zeros only, or with the version ff. If the value has a later version, only the part that
// version 00 defines is read.
std::optional<log::TraceId> parse_traceparent(std::string_view value) noexcept;

// Appends the line "traceparent: …\r\n", marked as sampled; `caller` identifies the call within the trace, and must not
// be 0.
void append_traceparent(Buffer& out, log::TraceId trace, std::uint64_t caller);

}  // namespace keel::http
