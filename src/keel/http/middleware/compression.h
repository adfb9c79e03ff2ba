// keel/http/middleware/compression.h — sends bodies as gzip, br or zstd to clients that accept it (RFC 9110 §8.4,
// §12.5.3).
//
//   router.use(http::Compression());
//   router.group("/reports").use(http::Compression({.bytes_min = 256, .levels = {.gzip = 9}}));
//
// A body is compressed if its type is among `types`, if its size is from bytes_min to bytes_max, if the client accepts
// a coding (Accept-Encoding, including weights), and if the result is smaller. A streamed body, such as a file above 32
// KiB (static_files.h), is compressed piece by piece while it is sent in chunks. A streamed body is compressed whatever
// its length is, unless the length is known to be below bytes_min; at most streams_max streamed bodies are compressed
// at a time. In a compressed response, Content-Encoding names the coding, Accept-Ranges is removed, and an ETag becomes
// weak, because the bytes have changed. A weak tag never satisfies If-Match; therefore do not compress responses of
// routes whose resources are changed by PUT with If-Match. Compression adds `Vary: Accept-Encoding` to each response
// that could be compressed for some client, even if this response is not compressed. The response to HEAD gets the same
// fields as the response to GET. Add Compression before any middleware that makes or changes bodies, so that
// Compression gets the final bodies.
//
// A response is not compressed if it has Content-Encoding, Content-Range or a digest (Content-Digest, Repr-Digest,
// Digest or Content-MD5, as a field or as an announced trailer), if it has Cache-Control: no-transform, or if its
// status is 206 or one without content. A response with status 206 gets Vary, although it is not compressed. A request
// whose Accept-Encoding excludes identity is not rejected with 406. Request bodies are not decompressed.
//
// If a response contains both a secret and text that an attacker chooses, its compressed size reveals the secret
// (BREACH): do not use Compression for routes that send such responses over TLS.
//
// Threads: one object for all workers; each worker has its own coder (content_coder.h), which is made when the worker
//          first compresses a body.
// Cost:    that of the coder, in proportion to the size of the body. While a worker compresses, it serves no other
//          request; before it serves other requests again, it compresses at most bytes_max of a complete body, or at
//          most 64 KiB of a streamed body. In steady state, a body of up to 64 KiB needs no memory from the heap. Each
//          streamed body needs a coder, of up to 2 MB.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/middleware/content_coder.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::http {

// Selects which bodies are compressed, and how strongly.
struct CompressionOptions {
  // Below this size, the additional fields take as many bytes as compression saves.
  std::size_t bytes_min = 1024;
  std::size_t bytes_max = 1024 * 1024;  // Above this size, compression would occupy the worker for too long.
  // Media types, without parameters. The subtype may be '*', or "*+json" for all subtypes that end with "+json" (RFC
  // 6839).
  std::vector<std::string> types = {"text/*",
                                    "application/json",
                                    "application/*+json",
                                    "application/x-ndjson",
                                    "application/ndjson",
                                    "application/jsonl",
                                    "application/json-seq",
                                    "application/xml",
                                    "application/*+xml",
                                    "application/yaml",
                                    "application/toml",
                                    "application/sql",
                                    "application/javascript",
                                    "application/graphql",
                                    "image/svg+xml"};
  // The codings; if a client accepts several with the same weight, the first of them is used. Empty: all codings that
  // this build supports. A coding that this build does not support is ignored.
  std::vector<std::string> codings = {};
  CoderLevels levels = {};
  // Number of streamed bodies that may be compressed at the same time; any additional streamed body is sent
  // uncompressed. This number is limited because a client that reads slowly occupies a coder for a long time.
  std::size_t streams_max = 32;
};

class Compression {
 public:
  // An option outside of its bounds is a bug and aborts.
  explicit Compression(CompressionOptions options = {});
  Compression(Compression&&) noexcept;
  ~Compression();

  void after(Request& request, Response& response) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::http
