// keel/http/server/body_transform.h — changes the body of a response while it is sent: a coding, a cipher, a filter.
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
// A response takes a transform over by Response::transform(). Bytes that the response's task writes pass the transforms
// in the order in which they were added; http::Compression is one of them. A response whose body is there as a whole
// has none: middleware changes that by Response::replace_content().
//
// Result:    what write() and end() append to `out`, which may be nothing.
// Errors:    of write() and end() end the body: BodyWriter::write() gives the error to the task, the connection is
//            reset and the error logged. An exception counts as one. Neither is called again.
// Ownership: the transform's own: release() is called once, last, whether the body was written or not.
// Lifetime:  `piece` and `out` are for the call alone.
// Threads:   the worker of the response.
// Cost:      two indirect calls for each 64 KiB, or for each write. `out` keeps its memory from call to call.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::http {

class BodyTransform {
 public:
  BodyTransform(const BodyTransform&) = delete;
  BodyTransform& operator=(const BodyTransform&) = delete;

  // Appends what `piece`, the next part of the body, becomes. It has 64 KiB at most when it comes from the task, and
  // what the transform before has appended otherwise. Nothing may follow it for a long time: what is kept back for
  // later is not seen by the client before.
  virtual Result<> write(std::string_view piece, Buffer& out) = 0;
  // The body is over: appends what is left.
  virtual Result<> end(Buffer& out) = 0;
  // Nothing will be called any more: it deletes itself, or goes back to where it was lent from.
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
