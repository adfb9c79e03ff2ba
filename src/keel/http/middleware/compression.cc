#include "keel/http/middleware/compression.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/per_thread.h"
#include "keel/base/pool.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/negotiate.h"
#include "keel/http/server/body_transform.h"

namespace keel::http {
namespace {

// A compressed body gets a weak tag, because its bytes differ from the original and only its meaning is equal (RFC 9110
// §8.8.1).
void weaken(Response& response) {
  const auto tag = response.field("ETag");
  if (!tag || !tag->starts_with('"')) return;
  Buffer weak;
  weak.append("W/");
  weak.append(*tag);
  response.replace("ETag", weak.view());
}

// Whether a field contains a digest of the body's bytes, which compression changes (RFC 9530 §2, §3).
bool has_digest(const Response& response) {
  const auto announced = response.field("Trailer");
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"Content-Digest", "Repr-Digest", "Digest", "Content-MD5"},
      [&](std::string_view name) { return response.field(name) || (announced && lists(*announced, name)); });
}

// A 304 must have the same fields as the response that the client has cached (RFC 9110 §15.4.5). If the client names
// the tag as a weak tag, the response in its cache is compressed.
void confirm(Request& request, Response& response) {
  response.vary("Accept-Encoding");
  if (!request.head().has(Known::AcceptEncoding)) return;
  const auto tag = response.field("ETag");
  const auto kept = request.header_list("If-None-Match");
  if (!tag || !kept) return;
  for (std::string_view rest = *kept, element; next_element(rest, element);) {
    if (element.starts_with("W/") && element.substr(2) == *tag) return weaken(response);
  }
}

// A `range` such as "application/*+json" matches every type with that suffix; other values are media ranges.
bool is_of(std::string_view content_type, std::string_view range) noexcept {
  const std::size_t star = range.find("/*+");
  if (star == std::string_view::npos) return is_of_media_range(content_type, range);
  const std::string_view type = trim_blanks(content_type.substr(0, content_type.find(';')));
  const std::string_view front = range.substr(0, star + 1);
  const std::string_view suffix = range.substr(star + 2);
  return type.size() > front.size() + suffix.size() && equals_ignore_case(type.substr(0, front.size()), front) &&
         equals_ignore_case(type.substr(type.size() - suffix.size()), suffix);
}

// Compresses a streamed body while it is sent.
class Coding final : public BodyTransform {
 public:
  static Coding* make(ContentCoders::Lease coder) {
    return new (pool_allocate(sizeof(Coding))) Coding(std::move(coder));
  }
  Result<> write(std::string_view piece, Buffer& out) override { return result(coder_->write(piece, out)); }
  Result<> end(Buffer& out) override { return result(coder_->end(out)); }
  void release() noexcept override {
    this->~Coding();
    pool_free(this, sizeof(Coding));
  }

 private:
  explicit Coding(ContentCoders::Lease coder) noexcept : coder_(std::move(coder)) {}
  ~Coding() = default;
  static Result<> result(bool has_memory) {
    if (!has_memory) return fail(Code::ResourceExhausted, "out of memory while compressing a body");
    return {};
  }
  const ContentCoders::Lease coder_;
};

}  // namespace

struct Compression::State {
  explicit State(CompressionOptions given) : options(std::move(given)), streams(options.levels, options.streams_max) {}

  CompressionOptions options;
  std::vector<std::string_view> codings;
  PerThread<ContentCoder> coders;  // The coders for bodies that are not streamed.
  ContentCoders streams;

  bool is_for(const Response& response) const {
    const std::uint64_t size =
        response.is_streamed() ? response.length().value_or(UINT64_MAX) : response.content().size();
    if (size < options.bytes_min || (size > options.bytes_max && !response.is_streamed())) return false;
    if (forbids_content(response.status())) return false;
    if (response.status() == Status::ResetContent) return false;  // The server sends a 205 without content.
    return is_of_our_types(response) && !response.field("Content-Range") && !has_digest(response);
  }
  bool is_of_our_types(const Response& response) const {
    const auto of = [&](const std::string& range) { return is_of(response.content_type(), range); };
    if (std::none_of(options.types.begin(), options.types.end(), of)) return false;
    if (response.field("Content-Encoding")) return false;
    const auto cached = response.field("Cache-Control");
    return !cached || !lists(*cached, "no-transform");
  }
};

Compression::Compression(CompressionOptions options) : state_(new State(std::move(options))) {
  const CompressionOptions& given = state_->options;
  KEEL_CHECK(given.bytes_min <= given.bytes_max, "bytes_min must not be above bytes_max");
  for (const std::string& type : given.types)
    KEEL_CHECK(is_media_range(type), "a media type to compress must have the form \"type/subtype\"");
  const auto there = ContentCoder::codings();
  if (given.codings.empty()) state_->codings.assign(there.begin(), there.end());
  for (const std::string& coding : given.codings) {
    KEEL_CHECK(coding == "gzip" || coding == "br" || coding == "zstd", "a content coding must be gzip, br or zstd");
    if (std::find(there.begin(), there.end(), coding) != there.end()) state_->codings.emplace_back(coding);
  }
  // The temporary coder checks the levels, so that a wrong level fails the start and not the first body.
  static_cast<void>(ContentCoder(given.levels));
}

Compression::Compression(Compression&&) noexcept = default;
Compression::~Compression() = default;

void Compression::after(Request& request, Response& response) const {
  if (response.status() == Status::NotModified) return confirm(request, response);
  if (response.status() == Status::PartialContent) {
    // A 206 needs the Vary that a 200 for this target would have (RFC 9110 §15.3.7). The size of the response with
    // status 200 is not known here, so the limits on the size are not checked.
    if (state_->is_of_our_types(response)) response.vary("Accept-Encoding");
    return;
  }
  if (!state_->is_for(response)) return;
  response.vary("Accept-Encoding");
  if (!request.head().has(Known::AcceptEncoding)) return;
  const auto chosen = choose_coding(*request.header_list("Accept-Encoding"), state_->codings);
  if (!chosen) return;
  const std::string_view coding = state_->codings[*chosen];
  if (response.is_streamed()) {
    ContentCoders::Lease coder = state_->streams.lend();
    if (coder == nullptr || !coder->begin(coding)) return;
    response.transform(*Coding::make(std::move(coder)));
  } else {
    ContentCoder& coder = state_->coders.get([this] { return ContentCoder(state_->options.levels); });
    Buffer compressed;
    if (!coder.encode(coding, response.content(), compressed)) return;
    response.replace_content(std::move(compressed));
  }
  response.header("Content-Encoding", coding);
  // The response to a range request would be a part of the uncompressed body; a client must not combine this part with
  // parts of the compressed body.
  response.remove("Accept-Ranges");
  weaken(response);
}

}  // namespace keel::http
