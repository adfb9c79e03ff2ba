// keel/http/middleware/compression.h — sends bodies as gzip, br or zstd to clients that accept it (RFC 9110 §8.4,
// §12.5.3).
//
//   router.use(http::Compression());
//   router.group("/reports").use(http::Compression({.bytes_min = 256, .levels = {.gzip = 9}}));
//
// A body is compressed when its type is among `types`, its size between the bounds, the client accepts a coding
// (Accept-Encoding, weights and all), and the result is smaller. A streamed body, such as a file above 32 KiB
// (static_files.h), is compressed piece by piece while it is sent, and sent in chunks. This applies to a body of any
// length unless the length is known to be below bytes_min; at most streams_max bodies are compressed in this way at a
// time. In a compressed response, Content-Encoding names the coding, Accept-Ranges is removed, and an ETag becomes
// weak, because the bytes have changed: a weak tag never satisfies If-Match, so do not compress routes whose resources
// are changed by PUT with If-Match. Every response that could have been compressed has Vary: Accept-Encoding, whether
// it was compressed or not. HEAD gets the same fields as GET. Add it outside of middleware that makes or changes
// bodies.
//
// These responses are not compressed: those with Content-Encoding, Content-Range or a digest (Content-Digest,
// Repr-Digest, Digest, Content-MD5, as a field or an announced trailer); those with the status 206, which get Vary, or
// a status without content; and those with Cache-Control: no-transform. An Accept-Encoding that excludes identity does
// not cause a 406. Request bodies are not decompressed.
//
// If a response contains a secret and text that an attacker chooses, its compressed size reveals the secret (BREACH):
// do not use this for routes that send both over TLS.
//
// Threads: one object for all workers; each has its own coder (content_coder.h), made when it first compresses.
// Cost:    that of the coder, in proportion to the content. The worker serves no other request while it compresses a
//          piece: a complete body has at most bytes_max, a piece of a streamed one at most 64 KiB. No heap in steady
//          state for a body of up to 64 KiB; each streamed body has a coder, of up to 2 MB.

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

// Selects which bodies are compressed, how strongly, and from which size.
struct CompressionOptions {
  // Below this size the additional fields cost as many bytes as compression saves.
  std::size_t bytes_min = 1024;
  std::size_t bytes_max = 1024 * 1024;  // Above this size compression would keep the worker busy for too long.
  // Media types, without parameters. The subtype may be '*', or "*+json" for all subtypes with this ending (RFC 6839).
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
  // The codings, in the order of preference when the client weighs them equally. Empty: all codings of this build. A
  // coding that this build does not have is ignored.
  std::vector<std::string> codings = {};
  CoderLevels levels = {};
  // Number of streamed bodies that are compressed at the same time; further ones are sent uncompressed. A client that
  // reads slowly occupies a coder for a long time.
  std::size_t streams_max = 32;
};

class Compression {
 public:
  // Options out of their range are a bug and abort.
  explicit Compression(CompressionOptions options = {});
  Compression(Compression&&) noexcept;
  ~Compression();

  void after(Request& request, Response& response) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::http
