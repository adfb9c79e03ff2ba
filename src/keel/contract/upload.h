// keel/contract/upload.h — the bytes that a client uploads: a body, or a file of a form (client.h).
//
//   api::AddPictureUpload files;
//   files.picture = {.content = png, .filename = "cat.png", .content_type = "image/png"};
//   files.original = {.content = {[&](http::ClientBodyWriter& body) { return write_file(body); }, size}};
//   co_await pictures.add_picture(request, files).value();
//
// Lifetime: a std::string that is moved into an Upload is owned by the Upload. Of bytes that are given in any other
//           way, the Upload has only a view. The viewed bytes must live until the client's function is called; the
//           function copies the bytes. A function that writes the bytes is kept until the call has ended, and
//           everything that it refers to must live until then.
// Threads:  a value, which is movable.

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

// The bytes themselves, or a function that writes them while they are sent (ClientRequest::stream).
class Upload {
 public:
  Upload() = default;  // No body.
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  Upload(const T& bytes) : bytes_(std::string_view(bytes)) {}
  Upload(std::string&& bytes) noexcept : kept_(std::move(bytes)) {}
  // If `length` is given, the function must write exactly that many bytes.
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
  // If there is no content, the file is not sent, which is an error if the contract requires the file.
  Upload content;
  std::string filename = {};  // The name that the service receives; if empty, the name of the field is sent.
  // The media type; if empty, the only one that the contract allows, or application/octet-stream.
  std::string content_type = {};
};

}  // namespace keel::contract
