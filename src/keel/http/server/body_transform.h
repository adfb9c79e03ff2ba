// keel/http/server/body_transform.h — changes the body of a response while it is sent, for example to compress, encrypt
// or filter it.
//
//   class CrlfLines final : public http::BodyTransform {
//    public:
//     Result<> write(std::string_view piece, Buffer& out) override {
//       for (const char c : piece) out.append(c == '\n' ? "\r\n" : std::string_view(&c, 1));
//       return {};
//     }
//     Result<> end(Buffer&) override { return {}; }
//     void release() noexcept override { delete this; }
//   };
//
//   void after(http::Request&, http::Response& response) {               // of a middleware (middleware.h)
//     if (response.is_streamed()) response.transform(*new CrlfLines);
//   }
//
// To add a transform to a response, call Response::transform(). The bytes that the response's task writes pass through
// the transforms in the order in which the transforms were added; http::Compression adds a transform that compresses
// the body. Only streamed bodies are transformed: to change a complete body, middleware calls
// Response::replace_content().
//
// Result:    write() and end() append to `out` the bytes that are ready, possibly none.
// Errors:    an error of write() or end() ends the body: BodyWriter::write() returns the error to the task, the
//            connection is reset, and the error is logged. An exception is treated as an error. After an error, no
//            function of the transform except release() is called.
// Ownership: a transform frees its own memory in release(), which is called once, as the last call, even if the body
//            was never written.
// Lifetime:  `piece` and `out` are valid only during the call.
// Threads:   the worker of the response.
// Cost:      two indirect calls for each write, and for each 64 KiB of a larger write. `out` keeps its memory between
//            calls.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::http {

class BodyTransform {
 public:
  BodyTransform(const BodyTransform&) = delete;
  BodyTransform& operator=(const BodyTransform&) = delete;

  // Transforms `piece`, which is the next part of the body, and appends the result to `out`. A piece that comes
  // directly from the task has at most 64 KiB; a piece for a later transform consists of all bytes that the previous
  // transform appended in one call. The transform should not hold bytes back for long: the client does not see them
  // before the next piece, which may follow much later.
  virtual Result<> write(std::string_view piece, Buffer& out) = 0;
  // Called at the end of the body; appends the remaining bytes.
  virtual Result<> end(Buffer& out) = 0;
  // The last call of all: the transform deletes itself, or goes back to the pool that lent it.
  virtual void release() noexcept = 0;

 protected:
  BodyTransform() = default;
  virtual ~BodyTransform() = default;

 private:
  friend class BodyWriter;
  friend class StreamedBody;
  BodyTransform* next_ = nullptr;  // The transform after this one.
};

}  // namespace keel::http
