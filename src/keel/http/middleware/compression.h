// keel/http/middleware/compression.h — sends bodies as gzip, br or zstd to clients that accept it (RFC 9110 §8.4,
// §12.5.3).
//
//   router.use(http::Compression());
//   router.group("/reports").use(http::Compression({.bytes_min = 256, .levels = {.gzip = 9}}));
//
// A body is compressed when its type is among `types`, its size between the bounds, the client accepts a coding
// (Accept-Encoding, weights and all), and the result is smaller. One that is streamed, as of files above 32 KiB
// (static_files.h), is compressed while it leaves, piece by piece, and sent in chunks: whatever its length, where it is
// not known to be below bytes_min, and while no more than streams_max are. Then Content-Encoding names the coding,
// Accept-Ranges is taken back, and an ETag becomes a weak one, for its bytes are others now: If-Match, which compares
// strongly, does not take it, so routes that are changed by PUT with If-Match stand outside of it. A response that
// could have been compressed has Vary: Accept-Encoding in either case. HEAD gets the same fields as GET. Use it outside
// of what makes or changes bodies.
//
// Left as they are: bodies with Content-Encoding, Content-Range or a digest of what they are (Content-Digest,
// Repr-Digest, Digest, Content-MD5, as a field or a trailer that is announced); statuses 206, which get Vary, and those
// without content; Cache-Control: no-transform. An Accept-Encoding that excludes identity is no reason for a 406.
// Request bodies are not decompressed.
//
// A secret beside text that an attacker chooses shows in the compressed size (BREACH): do not put this around routes
// that send both, over TLS.
//
// Threads: one object for all workers; each has its own coder (content_coder.h), made when it first compresses.
// Cost:    the coder's, in proportion to the content; the worker serves no other request until it is done, which is why
//          bytes_max bounds, and for a streamed body 64 KiB. No heap in steady state up to 64 KiB; a streamed body has
//          a coder of its own, of up to 2 MB.

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

// What is compressed, how well, and from which size on.
struct CompressionOptions {
  std::size_t bytes_min = 1024;         // Below: the fields cost what is saved.
  std::size_t bytes_max = 1024 * 1024;  // Above: the worker would be busy for too long.
  // Media types, without parameters. The subtype may be '*', or "*+json": all that end so (RFC 6839).
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
  // The preferred one first, among equals of the client. Empty: all that this build has. One that it does not have is
  // passed over.
  std::vector<std::string> codings = {};
  CoderLevels levels = {};
  // Streamed bodies that are compressed at the same time; others leave as they are. A slow reader keeps a coder.
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
