// keel/contract/output.h — for generated code: writes a client's request as the contract describes it. Input (input.h)
// is the counterpart of Output: it reads the request.
//
//   constexpr contract::Parameter limit = {.name = "limit", .place = contract::Place::Query};
//   contract::Output out(http::Method::Get, "/products/{id}");
//   out.text(id, contract::Form::Bare, request.id);
//   out.text(limit, contract::Form::Bare, request.limit);       // A std::optional that is empty is left out.
//   out.json_body("application/json", request.body);
//   KEEL_TRY(http::ClientRequest asked, std::move(out).finish("/v1"));
//
// Parameters are serialized according to OpenAPI's `style` and `explode` (3.1.1 §4.8.12). Text is percent-encoded
// everywhere except in a header.
//
// Result:   finish() returns the request, or InvalidArgument for the first value that its style cannot express: the
//           server would read such a value as another one. The values that a style cannot express are:
//           - an empty parameter or label of a path;
//           - a '|' in an element of pipeDelimited, a blank in an element of spaceDelimited;
//           - a text in a header that has blanks at its beginning or end, or control characters;
//           - a '=' or a comma in the name of a member of an exploded object in a header;
//           - null for a text;
//           - a list whose only element is an empty text, where elements are separated;
//           - a required list or object that is empty, where nothing would be sent for it;
//           - U+0000 in a form that is not multipart, and a line end in the name of a part or of its file;
//           - a file of a form with another media type than the contract has, and a missing file;
//           - text that is not UTF-8.
// Forms:    the fields come first, then the files. If a function writes the content of a file, the body is streamed,
//           with a length if the length of every file is known (ClientRequest::stream).
// Headers:  an element of a list, or a part of an object, is quoted if its text could otherwise be misread, for example
//           because it contains a comma (internal/header_list.h). Therefore Input reads the original text.
// Requests: properties that are `readOnly` are left out even if they are set, because a request does not have them.
// Limits:   for three kinds of values, the service reads a value that differs from the given value. If both a text and
//           a number are allowed, a text that looks like a number becomes a number. An optional list or object that is
//           empty is left out if its style would send nothing for it. In a oneOf of a text and a list, a list with one
//           element becomes that element.
// Threads:  a value, which copies its arguments, except for the path and the names of parameters, which must be
//           constants.
// Cost:     a value that is not text is first written as JSON, and the JSON is then split into its parts.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/contract/parameter.h"
#include "keel/contract/upload.h"
#include "keel/data/json_write.h"
#include "keel/http/client/client_request.h"
#include "keel/http/message/method.h"

namespace keel::contract {

class Output {
 public:
  // `path` is the path in the contract: "/products/{id}".
  Output(http::Method method, std::string_view path) noexcept : method_(method), path_(path) {}

  // Writes a text, a number, or a oneOf of these.
  template <class T>
  void text(const Parameter& parameter, Form form, const T& value) {
    if constexpr (is_optional<T>) {
      if (!value) return put_absent(parameter, form);
      text(parameter, form, *value);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      put_string(parameter, value);
    } else {
      put_text(parameter, form, json_of(value));
    }
  }
  // Writes a parameter whose `content` is JSON.
  template <class T>
  void json(const Parameter& parameter, const T& value) {
    if constexpr (is_optional<T>) {
      if (!value) return put_absent(parameter, Form::Json);
      json(parameter, *value);
    } else {
      put_plain(parameter, json_of(value).view());
    }
  }
  // Writes a list, whose elements have the form `form`.
  template <class T>
  void list(const Parameter& parameter, Form form, const T& value) {
    if constexpr (is_optional<T>) {
      if (!value) return put_absent(parameter, Form::Text);
      list(parameter, form, *value);
    } else {
      put_list(parameter, form, json_of(value).view());
    }
  }
  // Writes an object; `fields` describes the members with a known name, and all other members have the form `others`.
  template <class T>
  void object(const Parameter& parameter, std::span<const Field> fields, Form others, const T& value) {
    if constexpr (is_optional<T>) {
      if (!value) return put_absent(parameter, Form::Text);
      object(parameter, fields, others, *value);
    } else {
      put_object(parameter, fields, others, json_of(value));
    }
  }

  // Writes a oneOf whose alternatives are texts, of the form `single`, and a list or an object.
  template <class T>
  void either(const Parameter& parameter, Form single, Form element, std::span<const Field> fields, Form others,
              const T& value) {
    if constexpr (is_optional<T>) {
      if (!value) return put_absent(parameter, single);
      either(parameter, single, element, fields, others, *value);
    } else {
      put_either(parameter, single, element, fields, others, json_of(value));
    }
  }

  // The whole body. An empty std::optional sends no body, or the JSON value null if a body is required.
  template <class T>
  void json_body(std::string_view media_type, const T& value, bool is_required = true) {
    if constexpr (is_optional<T>) {
      if (value) return json_body(media_type, *value);
      if (is_required) bytes_body(media_type, "null");
    } else {
      put_body(json_of(value), media_type);
    }
  }
  // Writes a form as application/x-www-form-urlencoded, or as multipart/form-data, in which each file is a separate
  // part.
  template <class T>
  void form_body(std::string_view media_type, std::span<const Field> fields, Form others, const T& value) {
    if constexpr (is_optional<T>) {
      if (value) return form_body(media_type, fields, others, *value);
      files_body(media_type, false);
    } else {
      put_form(media_type, fields, others, json_of(value).view());
    }
  }
  // Adds files of a form that the service reads as they arrive. Call form_body() or files_body() after all files have
  // been added, because these functions write the fields and then the files. A file without content is left out. Moves
  // the content.
  void file(const FileRule& rule, FormFile& file);
  void file(const FileRule& rule, std::optional<FormFile>& file);
  void file(const FileRule& rule, std::vector<FormFile>& files);
  // Writes a form that has only files; without files, nothing is written unless the form is required.
  void files_body(std::string_view media_type, bool is_required = true);
  void bytes_body(std::string_view media_type, std::optional<std::string_view> bytes);
  // As ClientRequest::stream().
  void stream_body(std::string_view media_type, http::ClientRequest::Writer writer,
                   std::optional<std::uint64_t> length);

  // Adds a header field; after a redirect to another origin, a secret field is not sent (http/client/client_request.h).
  void header(std::string_view name, std::string_view value, bool is_secret = false);
  void query(std::string_view name, std::string_view value);
  void cookie(std::string_view name, std::string_view value);

  // `base` is the prefix of the path.
  Result<http::ClientRequest> finish(std::string_view base) &&;

 private:
  struct Pair;
  struct File {
    std::string_view name;
    std::string bytes;
    std::string filename;
    std::string content_type;
    Upload content;
  };
  struct Header {
    std::string name;
    std::string value;
    bool is_secret;
  };

  template <class T>
  static constexpr bool is_optional = !std::same_as<T, typename internal::PlainOf<T>::Type>;
  template <class T>
  static Buffer json_of(const T& value) {
    Buffer text;
    json::Writer writer(text, json::Writer::Omit::ReadOnly);
    json::internal::write_given(writer, value);
    return text;
  }

  void put_absent(const Parameter& parameter, Form form);
  void put_string(const Parameter& parameter, std::string_view text);
  void put_plain(const Parameter& parameter, std::string_view text);
  void put_text(const Parameter& parameter, Form form, const Buffer& json);
  void put_list(const Parameter& parameter, Form form, std::string_view json);
  void put_list_header(const Parameter& parameter, Form form, std::string_view json);
  void put_either(const Parameter& parameter, Form single, Form element, std::span<const Field> fields, Form others,
                  const Buffer& json);
  void put_object(const Parameter& parameter, std::span<const Field> fields, Form others, const Buffer& json);
  void put_form(std::string_view media_type, std::span<const Field> fields, Form others, std::string_view json);
  void put_body(Buffer&& bytes, std::string_view media_type);
  // Writes a text that already has the prefix of its style.
  void put_whole(const Parameter& parameter, std::string&& text);
  void write_multipart(std::span<const Pair> pairs);
  void check_file(const FileRule& rule, const FormFile& file);
  // Returns the text as it is written in its style: unchanged in a header, where it must not contain any of
  // `separators`, and escaped elsewhere.
  std::string escaped(const Parameter& parameter, std::string_view text, std::string_view separators);
  std::vector<Pair> pairs_of(std::string_view what, std::span<const Field> fields, Form others, std::string_view json,
                             Arena& arena);
  std::string_view text_of(std::string_view what, Form form, json::Reader& in, Arena& arena);
  [[gnu::cold]] void refuse(std::string_view what, std::string_view why);

  http::Method method_;
  std::string_view path_;
  std::vector<std::pair<std::string_view, std::string>> segments_;  // The names of path parameters, and their texts.
  Buffer query_;
  std::string cookies_;
  std::vector<Header> headers_;
  Buffer body_;
  std::string media_type_;
  std::vector<File> files_;
  // The name of a required file that is missing; writing a form then fails with an error that contains this name.
  std::string_view missing_file_;
  http::ClientRequest::Writer writer_;
  std::optional<std::uint64_t> length_;
  bool has_body_ = false;
  std::string problem_;
};

}  // namespace keel::contract
