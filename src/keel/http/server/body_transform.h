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
// Response::transform() passes a transform to a response. Bytes that the response's task writes pass the transforms
// in the order in which they were added; http::Compression is one of them. A response with a complete body has no
// transforms: middleware changes such a body with Response::replace_content().
//
// Result:    write() and end() append to `out` the bytes that are ready, if there are any.
// Errors:    an error of write() or end() ends the body: BodyWriter::write() gives the error to the task, the
//            connection is reset and the error logged. An exception counts as an error. No function of the transform
//            except release() is called after an error.
// Ownership: a transform manages its own memory: release() is called once, as the last call, whether or not the body
//            was written.
// Lifetime:  `piece` and `out` are valid only during the call.
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

  // Appends the transformed `piece`, which is the next part of the body. A piece from the task has at most 64 KiB; a
  // later transform gets what the previous one appended. It may be a long time until the next piece follows, and until
  // then the client does not see bytes that the transform holds back.
  virtual Result<> write(std::string_view piece, Buffer& out) = 0;
  // Called at the end of the body; appends the remaining bytes.
  virtual Result<> end(Buffer& out) = 0;
  // The last call: the transform deletes itself, or returns to the pool that lent it.
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
