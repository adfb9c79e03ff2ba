// keel/contract/files.h — the files of a form, read as they arrive: for the handlers of operations that take
// multipart/form-data with files.
//
//   Task<api::AddPictureResponse> add_picture(http::Request&, const api::AddPictureRequest& request,
//                                             api::AddPictureFiles files) override {
//     while (true) {
//       const auto file = co_await files.next();                    // nullopt after the last one
//       if (!file) break;
//       Blob blob = co_await store_.create(request.body.title, file->content_type);
//       while (true) {
//         const Chunk piece = co_await files.read();                // empty at the end of the file
//         if (piece.empty()) break;
//         co_await blob.append(piece);
//       }
//     }
//     …
//   }
//
// The client has to send the fields of the form before its files: the fields are read and checked before the handler is
// called, and the handler gets them as request.body. The server receives only as much of the files as the handler
// reads, so the memory for a request does not depend on their size. A file that the handler does not read is skipped by
// the next call of next().
//
// Order:     next() gives the files in the order in which the client sends them, whatever their names are.
// Errors:    422 (http::Rejection, with the name of the field), as soon as the mistake is known, for a field with an
//            invalid value, a missing field or file, a file that is too large or too small (maxLength, minLength, in
//            bytes), a file whose Content-Type is not one that its `encoding` allows, several files with a name that
//            allows only one, more or fewer files than a list may have, a field after the first file, and a part that
//            the schema excludes. 400 for a body that is not valid multipart (http/server/multipart.h). 413 for a body
//            above the limit of the route, for fields above fields_bytes_max, for more than fields_max fields, for more
//            than parts_max parts, and for file names above names_bytes_max. Calls also fail with the errors of
//            http::Request::read_body(). After an error, every call fails. Until next() has returned nullopt, the form
//            may still turn out to be invalid or incomplete: when a call fails, the handler must discard the files, or
//            parts of files, that it has stored.
// Lifetime:  that of the request. A piece is valid until the next call; the names and types of files are valid as long
//            as the request.
// Threads:   the worker of the request; one call at a time.
// Cancel:    as http::Request::read_body().
// Cost:      linear; a piece is a view into the received bytes. Fields are collected in memory; files are not.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/contract/parameter.h"
#include "keel/data/violations.h"
#include "keel/http/server/multipart.h"
#include "keel/http/server/request.h"
#include "keel/task/task.h"

namespace keel::contract {

// What the reader does with a part whose name is not in the schema.
enum class Undeclared : std::uint8_t { Skipped, Rejected, Kept };

// For generated code: the contract's description of a form that is read as it arrives.
struct ReceivedForm {
  std::span<const FileRule> files;
  std::span<const Field> fields = {};
  Form others = Form::Either;  // The form of the fields that are not in `fields`, if such fields are kept.
  Undeclared undeclared = Undeclared::Skipped;
  bool is_required = true;
  // The offset, within the operation's request struct, of the struct for the fields of the form.
  std::size_t offset = 0;
  internal::ReadField read = nullptr;     // field_reader<…>; null if the form has no fields.
  void* (*room)(void* member) = nullptr;  // room<…> if the body is optional (input.h); else null.
};
// A value for ReceivedForm::read: it calls `read`, which must be an overload of read_json().
template <auto read>
inline constexpr internal::ReadField field_reader = &internal::ReadBy<read>::field;

// For the code that calls handlers: reads a form that a ReceivedForm describes.
class FormReader {
 public:
  // The maximum size of all fields together, including their names.
  static constexpr std::size_t fields_bytes_max = 256 << 10;
  static constexpr std::size_t fields_max = 256;
  static constexpr std::uint32_t parts_max = 4096;
  // The maximum size of the names and media types of all files together.
  static constexpr std::size_t names_bytes_max = 256 << 10;

  // Both outlive it.
  FormReader(http::Request& http, const ReceivedForm& form) noexcept : http_(http), form_(form) {}
  FormReader(const FormReader&) = delete;
  FormReader& operator=(const FormReader&) = delete;

  // Reads the fields into the struct that the operation takes, and stops at the first file or at the end of the form.
  Task<> begin(void* to);
  // Goes to the next file; false after the last one.
  Task<bool> next();
  Task<Chunk> read();
  Task<std::string> read_whole(std::size_t bytes_max);

  // The current file: its index among ReceivedForm::files, its name, and its media type.
  std::size_t index() const noexcept { return index_; }
  std::string_view filename() const noexcept { return filename_; }
  std::string_view content_type() const noexcept { return content_type_; }

 private:
  enum class At : std::uint8_t { Between, Opened, File, End, Failed };

  // Returns the next step of the form; its state is Need only at the end of the form.
  Task<http::MultipartStep> step();
  // Makes the part that has just begun the current file; returns false if a browser sent it for an empty file input.
  Task<bool> open(std::size_t index);
  std::size_t file_of(std::string_view name) const noexcept;
  bool is_field(std::string_view name) const noexcept;
  void check_opened(Violations& wrong);
  void check_missing(Violations& wrong) const;
  std::string name_of_file() const;
  Error refuse(Violations wrong);

  http::Request& http_;
  const ReceivedForm& form_;
  std::optional<http::MultipartReader> reader_;
  std::string_view rest_;            // Received bytes that the parser has not consumed.
  std::string_view pending_;         // The first piece of the current file, if it has already been read.
  std::span<std::uint64_t> counts_;  // How many files have arrived for each rule in `files`.
  std::size_t index_ = 0;
  std::string_view filename_;
  std::string_view content_type_;
  std::uint64_t bytes_ = 0;  // How many bytes of the current file have been read.
  // The number of bytes of all file names and media types so far; these texts are kept as long as the request.
  std::size_t names_ = 0;
  At at_ = At::Between;
};

// The file that is being received.
template <class Name>
struct File {
  Name name;                      // The property of the schema that describes the file.
  std::string_view filename;      // The client chooses the name: never use it as a path. May be empty.
  std::string_view content_type;  // The type that the client has sent; "text/plain" if it has sent none.
};

// The files of one request. `Name` is the enum of the files' property names. A Files is a value that refers to the
// request.
template <class Name>
class Files {
 public:
  explicit Files(FormReader& reader) noexcept : reader_(&reader) {}

  // The next file; nullopt after the last one, when the form is complete.
  Task<std::optional<File<Name>>> next() {
    const bool has_file = co_await reader_->next();
    if (!has_file) co_return std::nullopt;
    co_return File<Name>{static_cast<Name>(reader_->index()), reader_->filename(), reader_->content_type()};
  }
  // The next piece of the current file; empty at its end, and when there is no current file.
  Task<Chunk> read() { return reader_->read(); }
  // Returns the rest of the current file, for small files; if the rest is larger than bytes_max, the error is 413.
  Task<std::string> read_whole(std::size_t bytes_max) { return reader_->read_whole(bytes_max); }

 private:
  FormReader* reader_;
};

}  // namespace keel::contract
