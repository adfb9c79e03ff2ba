// keel/http/message/trace_context.h — the trace that a request is a part of, as it is passed from service to service:
// the field traceparent of W3C Trace Context (level 1).
//
//   traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
//                version, trace, the caller's own part of it, flags
//
// Threads: functions.
// Cost:    one pass over the bytes; no allocation beyond the buffer's.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/observe/span.h"

namespace keel::http {

// The trace that the value of a traceparent names; nullopt when it is invalid: another form, capital letters, a trace
// or a caller that is all zeros, or version ff. For later versions, the part that they share with this one is read.
std::optional<log::TraceId> parse_traceparent(std::string_view value) noexcept;

// "traceparent: …\r\n", sampled; `caller` is the part of the trace that makes the call, not 0.
void append_traceparent(Buffer& out, log::TraceId trace, std::uint64_t caller);

}  // namespace keel::http
