// keel/contract/upload.h — the bytes that a client sends: a body, or a file of a form (client.h).
//
//   api::AddPictureUpload files;
//   files.picture = {.content = png, .filename = "cat.png", .content_type = "image/png"};
//   files.original = {.content = {[&](http::ClientBodyWriter& body) { return write_file(body); }, size}};
//   co_await pictures.add_picture(request, files).value();
//
// Lifetime: an Upload keeps a std::string that is moved into it. Other bytes are only viewed, and must live until the
//           function of the client is called, which copies them. A function that writes the bytes is kept until the
//           call has ended, and everything that it refers to must live until then.
// Threads:  a value, which can be moved.

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/http/client/client_request.h"

namespace keel::contract {

// Bytes that are already there, or a function that writes them while they are sent (ClientRequest::stream).
class Upload {
 public:
  Upload() = default;  // No body.
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  Upload(const T& bytes) : bytes_(std::string_view(bytes)) {}
  Upload(std::string&& bytes) noexcept : kept_(std::move(bytes)) {}
  // With a length, the function must write exactly that many bytes.
  template <class F>
    requires(std::is_invocable_r_v<Task<>, F&, http::ClientBodyWriter&> &&
             !std::same_as<std::remove_cvref_t<F>, Upload>)
  Upload(F&& write, std::optional<std::uint64_t> length = std::nullopt)
      : writer_(std::forward<F>(write)), length_(length) {}

 private:
  friend class Call;
  friend class Output;
  std::optional<std::string_view> bytes() const noexcept { return kept_ ? std::string_view(*kept_) : bytes_; }
  std::string take_bytes() { return kept_ ? std::move(*kept_) : std::string(bytes_.value_or(std::string_view())); }

  std::optional<std::string_view> bytes_;
  std::optional<std::string> kept_;
  http::ClientRequest::Writer writer_;
  std::optional<std::uint64_t> length_;
};

// A file of a form.
struct FormFile {
  // A file without content is not sent; if the contract requires the file, that is an error.
  Upload content;
  std::string filename = {};      // The name that the service sees; empty: the name of the field.
  std::string content_type = {};  // Empty: the only media type of the contract, or application/octet-stream.
};

}  // namespace keel::contract
