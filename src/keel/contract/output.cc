#include "keel/contract/output.h"

#include <algorithm>
#include <cstddef>

#include "keel/base/arena.h"
#include "keel/contract/internal/form.h"
#include "keel/contract/internal/header_list.h"
#include "keel/contract/internal/multipart.h"
#include "keel/contract/internal/texts.h"
#include "keel/data/base64.h"
#include "keel/data/json_reader.h"
#include "keel/data/uri.h"
#include "keel/data/utf8.h"
#include "keel/http/message/fields.h"

namespace keel::contract {
namespace {

std::string percent_encoded(std::string_view text) {
  Buffer encoded;
  uri::percent_encode(encoded, text);
  return std::string(encoded.view());
}

bool is_multipart(std::string_view media_type) noexcept {
  return http::equals_ignore_case(http::trim_blanks(media_type.substr(0, media_type.find(';'))), "multipart/form-data");
}

// The separator between the elements of a list, or between the pairs of an exploded object.
std::string_view separator_of(const Parameter& parameter) noexcept {
  switch (parameter.style) {
    case Style::SpaceDelimited:
      return "%20";
    case Style::PipeDelimited:
      return "%7C";
    case Style::Label:
      return parameter.explodes ? "." : ",";
    default:
      return ",";
  }
}

}  // namespace

constexpr std::string_view no_control_characters = "a header cannot contain control characters";

struct Output::Pair {
  std::string_view name;
  std::string_view text;
  Form form;
  std::string_view media_types = {};  // Of a field.
};

void Output::refuse(std::string_view what, std::string_view why) {
  if (problem_.empty()) problem_ = std::string(what) + ": " + std::string(why);
}

std::string Output::escaped(const Parameter& parameter, std::string_view text, std::string_view separators) {
  if (parameter.place == Place::Header) {
    if (!http::is_field_value(text)) refuse(parameter.name, no_control_characters);
    if (text.size() != http::trim_blanks(text).size())
      refuse(parameter.name, "a header cannot begin or end with a blank");
    return std::string(text);
  }
  const char delimiter = parameter.style == Style::SpaceDelimited  ? ' '
                         : parameter.style == Style::PipeDelimited ? '|'
                                                                   : '\0';
  if (delimiter != '\0' && !separators.empty() && text.find(delimiter) != std::string_view::npos) {
    refuse(parameter.name, delimiter == ' ' ? "an element of a spaceDelimited list or object cannot contain a blank"
                                            : "an element of a pipeDelimited list or object cannot contain '|'");
  }
  std::string encoded = percent_encoded(text);
  if (separators.find('.') != std::string_view::npos) {
    for (std::size_t at = 0; (at = encoded.find('.', at)) != std::string::npos;) encoded.replace(at, 1, "%2E");
  }
  return encoded;
}

void Output::put_whole(const Parameter& parameter, std::string&& text) {
  switch (parameter.place) {
    case Place::Path:
      if (text.empty()) refuse(parameter.name, "a path parameter cannot be empty");
      // Clients remove the segments "." and ".." from a path, so these texts are percent-encoded. In the style Label,
      // "." and ".." are rejected instead, because the first dot belongs to the style and cannot be percent-encoded.
      if (parameter.style == Style::Label) {
        if (text == "." || text == "..") refuse(parameter.name, "a label cannot be empty");
      } else if (text == "." || text == "..") {
        text = text == "." ? "%2E" : "%2E%2E";
      }
      segments_.emplace_back(parameter.name, std::move(text));
      return;
    case Place::Query:
      if (!query_.empty()) query_.push_back('&');
      uri::percent_encode(query_, parameter.name);
      query_.push_back('=');
      query_.append(text);
      return;
    case Place::Header:
      headers_.push_back({std::string(parameter.name), std::move(text), false});
      return;
    case Place::Cookie:
      if (!http::is_token(parameter.name)) refuse(parameter.name, "cannot be the name of a cookie");
      if (!cookies_.empty()) cookies_ += "; ";
      cookies_.append(parameter.name).append("=").append(text);
      return;
  }
}

void Output::put_absent(const Parameter& parameter, Form form) {
  if (!parameter.is_required) return;
  if (form == Form::Text) return refuse(parameter.name, "null cannot be sent");
  put_plain(parameter, "null");
}

void Output::put_string(const Parameter& parameter, std::string_view text) {
  if (!utf8::is_valid(text)) refuse(parameter.name, "is not UTF-8");
  put_plain(parameter, text);
}
void Output::put_plain(const Parameter& parameter, std::string_view text) {
  std::string whole = escaped(parameter, text, {});
  if (parameter.style == Style::Label) whole = whole == "." ? ".%2E" : '.' + whole;
  if (parameter.style == Style::Matrix) whole.insert(0, ';' + percent_encoded(parameter.name) + '=');
  put_whole(parameter, std::move(whole));
}

std::string_view Output::text_of(std::string_view what, Form form, json::Reader& in, Arena& arena) {
  switch (in.peek()) {
    case json::Kind::String: {
      const std::string_view text = in.string();
      if (form != Form::File) return text;
      const std::span<char> bytes = arena.array<char>(base64::decoded_size(text));
      const auto size = base64::decode(text, std::as_writable_bytes(bytes), base64::Form::Standard);
      return {bytes.data(), size ? *size : 0};
    }
    case json::Kind::Null:
      if (form != Form::Bare && form != Form::Either && form != Form::Json) refuse(what, "null cannot be sent");
      return in.skip();
    case json::Kind::Array:
    case json::Kind::Object:
      if (form != Form::Json) refuse(what, "cannot represent a value that is nested this deeply");
      return in.skip();
    default:
      return in.skip();
  }
}

void Output::put_text(const Parameter& parameter, Form form, const Buffer& json) {
  Arena arena;
  json::Reader in(json.view(), arena);
  put_plain(parameter, text_of(parameter.name, form, in, arena));
}

void Output::put_list_header(const Parameter& parameter, Form form, std::string_view json) {
  Arena arena;
  json::Reader in(json, arena);
  std::string whole;
  bool is_first = true;
  for (in.begin_array(); in.next_element(); is_first = false) {
    const std::string_view text = text_of(parameter.name, form, in, arena);
    if (!http::is_field_value(text)) refuse(parameter.name, no_control_characters);
    if (!is_first) whole += ',';
    internal::append_element(whole, text);
  }
  put_whole(parameter, std::move(whole));
}

void Output::put_list(const Parameter& parameter, Form form, std::string_view json) {
  if (parameter.place == Place::Header) return put_list_header(parameter, form, json);
  Arena arena;
  json::Reader in(json, arena);
  const bool is_repeated = parameter.explodes && (parameter.style == Style::Matrix ||
                                                  (parameter.place == Place::Query && parameter.style == Style::Form));
  const std::string_view separator = separator_of(parameter);
  const std::string head = parameter.style == Style::Matrix  ? ';' + percent_encoded(parameter.name) + '='
                           : parameter.style == Style::Label ? "."
                                                             : "";
  std::string whole;
  std::size_t count = 0;
  for (in.begin_array(); in.next_element(); ++count) {
    std::string element = escaped(parameter, text_of(parameter.name, form, in, arena), separator);
    if (!is_repeated) {
      if (count != 0) whole += separator;
      whole += element;
    } else if (parameter.style == Style::Matrix) {
      whole += head + element;
    } else {
      put_whole(parameter, std::move(element));
    }
  }
  if (!is_repeated) {
    if (count == 1 && whole.empty())
      return refuse(parameter.name,
                    "a list with one empty text cannot be sent, because it would be read as an empty "
                    "list");
    return put_whole(parameter, head + whole);
  }
  if (parameter.style == Style::Matrix) return put_whole(parameter, count == 0 ? ";" : std::move(whole));
  if (count == 0 && parameter.is_required) refuse(parameter.name, "an empty list cannot be sent");
}

void Output::put_either(const Parameter& parameter, Form single, Form element, std::span<const Field> fields,
                        Form others, const Buffer& json) {
  if (json.view().starts_with('[')) return put_list(parameter, element, json.view());
  if (json.view().starts_with('{')) return put_object(parameter, fields, others, json);
  // The service reads an empty text as a list with one element.
  if (parameter.style == Style::DeepObject || json.view() == "\"\"") return put_text(parameter, single, json);
  put_list(parameter, single, '[' + std::string(json.view()) + ']');
}

std::vector<Output::Pair> Output::pairs_of(std::string_view what, std::span<const Field> fields, Form others,
                                           std::string_view json, Arena& arena) {
  std::vector<Pair> pairs;
  json::Reader in(json, arena);
  in.begin_object();
  while (const auto name = in.next_key()) {
    const auto known = std::ranges::find(fields, *name, &Field::name);
    const Form form = known != fields.end() ? known->form : others;
    const std::string_view media_types = known != fields.end() ? known->media_types : std::string_view();
    if (!internal::is_list(form) || in.peek() != json::Kind::Array) {
      pairs.push_back({*name, text_of(what, form, in, arena), form, media_types});
      continue;
    }
    for (in.begin_array(); in.next_element();) {
      const Form element = internal::element_of(form);
      pairs.push_back({*name, text_of(what, element, in, arena), element, media_types});
    }
  }
  return pairs;
}

void Output::put_object(const Parameter& parameter, std::span<const Field> fields, Form others, const Buffer& json) {
  Arena arena;
  const std::vector<Pair> pairs = pairs_of(parameter.name, fields, others, json.view(), arena);
  if (pairs.empty()) {
    if (parameter.is_required) refuse(parameter.name, "an empty object cannot be sent");
    return;
  }
  const bool is_of_query =
      parameter.place == Place::Query && (parameter.explodes || parameter.style == Style::DeepObject);
  if (is_of_query) {
    for (const Pair& pair : pairs) {
      if (pair.name.find('\0') != std::string_view::npos) refuse(parameter.name, "a name has the character U+0000");
      const std::string name = parameter.style == Style::DeepObject
                                   ? std::string(parameter.name) + '[' + std::string(pair.name) + ']'
                                   : std::string(pair.name);
      query(name, pair.text);
    }
    return;
  }
  if (parameter.place == Place::Header) {
    std::string whole;
    for (const Pair& pair : pairs) {
      if (!http::is_field_value(pair.name) || !http::is_field_value(pair.text))
        refuse(parameter.name, no_control_characters);
      if (!whole.empty()) whole += ',';
      if (!parameter.explodes) {
        internal::append_element(whole, pair.name);
        whole += ',';
        internal::append_element(whole, pair.text);
      } else if (!internal::append_pair(whole, pair.name, pair.text)) {
        refuse(parameter.name, "the name of a member has a character that a header cannot escape");
      }
    }
    return put_whole(parameter, std::move(whole));
  }
  const bool is_matrix = parameter.style == Style::Matrix;
  const bool is_delimited = parameter.style == Style::SpaceDelimited || parameter.style == Style::PipeDelimited;
  const std::string_view separator = is_delimited          ? separator_of(parameter)
                                     : !parameter.explodes ? ","
                                     : is_matrix           ? ";"
                                                           : separator_of(parameter);
  const std::string separators = std::string(separator) + (parameter.explodes ? "=" : "");
  std::string whole = is_matrix ? (parameter.explodes ? ";" : ';' + percent_encoded(parameter.name) + '=')
                      : parameter.style == Style::Label ? "."
                                                        : "";
  bool is_first = true;
  for (const Pair& pair : pairs) {
    if (!is_first) whole += separator;
    is_first = false;
    whole += escaped(parameter, pair.name, separators);
    whole += parameter.explodes ? "=" : separator;
    whole += escaped(parameter, pair.text, separator);
  }
  put_whole(parameter, std::move(whole));
}

void Output::query(std::string_view name, std::string_view value) {
  if (!query_.empty()) query_.push_back('&');
  uri::percent_encode(query_, name);
  query_.push_back('=');
  uri::percent_encode(query_, value);
}
void Output::cookie(std::string_view name, std::string_view value) {
  // A service does not decode a cookie unless a specification says so (RFC 6265 §4.1.1), so the text is not
  // percent-encoded.
  const bool is_sendable = std::ranges::all_of(
      value, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\'; });
  if (!http::is_token(name) || !is_sendable) refuse(name, "cannot be sent as a cookie");
  if (!cookies_.empty()) cookies_ += "; ";
  cookies_.append(name).append("=").append(value);
}
void Output::header(std::string_view name, std::string_view value, bool is_secret) {
  headers_.push_back({std::string(name), std::string(value), is_secret});
}

void Output::put_body(Buffer&& bytes, std::string_view media_type) {
  body_ = std::move(bytes);
  media_type_ = media_type;
  has_body_ = true;
}
void Output::bytes_body(std::string_view media_type, std::optional<std::string_view> bytes) {
  if (!bytes) return;
  Buffer copy;
  copy.append(*bytes);
  put_body(std::move(copy), media_type);
}
void Output::stream_body(std::string_view media_type, http::ClientRequest::Writer writer,
                         std::optional<std::uint64_t> length) {
  put_body({}, media_type);
  writer_ = std::move(writer);
  length_ = length;
}

void Output::put_form(std::string_view media_type, std::span<const Field> fields, Form others, std::string_view json) {
  Arena arena;
  const std::vector<Pair> pairs = pairs_of("the form", fields, others, json, arena);
  put_body({}, media_type);
  if (!missing_file_.empty()) refuse(missing_file_, "the contract requires this file");
  if (is_multipart(media_type)) return write_multipart(pairs);
  for (const Pair& pair : pairs) {
    const auto has_nul = [](std::string_view text) { return text.find('\0') != std::string_view::npos; };
    if (has_nul(pair.name) || has_nul(pair.text)) refuse("the form", "U+0000 can be sent only as multipart/form-data");
    if (!body_.empty()) body_.push_back('&');
    uri::percent_encode(body_, pair.name);
    body_.push_back('=');
    uri::percent_encode(body_, pair.text);
  }
}

void Output::check_file(const FileRule& rule, const FormFile& file) {
  if (!internal::is_part_name(file.filename)) refuse(rule.name, "the name of a file has a line end or U+0000");
  if (!file.content_type.empty() && !http::is_field_value(file.content_type)) refuse(rule.name, no_control_characters);
  if (!file.content_type.empty() && !internal::is_of_media_types(file.content_type, rule.media_types)) {
    refuse(rule.name, "the contract does not declare this media type for the file: " + file.content_type);
  }
  if (file.content_type.empty() && !rule.media_types.empty() && internal::only_type_of(rule.media_types).empty()) {
    refuse(rule.name, "the contract has several media types for this file: set its content_type to one of them");
  }
}

void Output::file(const FileRule& rule, FormFile& file) {
  if (!file.content.bytes() && !file.content.writer_) {
    if (rule.is_required) missing_file_ = rule.name;
    return;
  }
  check_file(rule, file);
  File& sent = files_.emplace_back();
  sent.name = rule.name;
  sent.bytes = file.content.take_bytes();
  sent.filename = file.filename.empty() ? std::string(rule.name) : std::move(file.filename);
  sent.content_type =
      file.content_type.empty() ? std::string(internal::only_type_of(rule.media_types)) : std::move(file.content_type);
  if (sent.content_type.empty()) sent.content_type = "application/octet-stream";
  sent.content = std::move(file.content);
}
void Output::file(const FileRule& rule, std::optional<FormFile>& file) {
  if (file) this->file(rule, *file);
}
void Output::file(const FileRule& rule, std::vector<FormFile>& files) {
  if (files.empty() && rule.is_required) missing_file_ = rule.name;
  for (FormFile& one : files) file(rule, one);
}
void Output::files_body(std::string_view media_type, bool is_required) {
  if (is_required || !files_.empty()) put_form(media_type, {}, Form::Text, "{}");
}

void Output::write_multipart(std::span<const Pair> pairs) {
  std::vector<internal::SentPart> parts;
  for (const Pair& pair : pairs) {
    if (!internal::is_part_name(pair.name)) refuse("the form", "a name has a line end or U+0000");
    internal::SentPart& part = parts.emplace_back();
    part.name = pair.name;
    part.text = pair.text;
    if (pair.form == Form::File) part.filename = pair.name;
    const std::string_view usual = pair.form == Form::File   ? "application/octet-stream"
                                   : pair.form == Form::Json ? "application/json"
                                                             : "";
    const std::string_view declared = internal::only_type_of(pair.media_types);
    part.content_type = declared.empty() ? usual : declared;
  }
  for (File& file : files_) {
    internal::SentPart& part = parts.emplace_back();
    part.name = file.name;
    part.text = file.bytes;
    part.filename = file.filename;
    part.content_type = file.content_type;
    part.writer = std::move(file.content.writer_);
    part.length = file.content.length_;
  }
  internal::Multipart made(std::move(parts));
  media_type_ += "; boundary=" + made.boundary();
  if (made.is_streamed()) {
    length_ = made.length();
    writer_ = std::move(made).writer();
  } else {
    body_.append(made.text());
  }
  files_.clear();
}

Result<http::ClientRequest> Output::finish(std::string_view base) && {
  if (!problem_.empty()) return Error::text(Code::InvalidArgument, problem_);
  std::string url(base);
  for (std::string_view rest = path_; !rest.empty();) {
    const std::size_t begin = std::min(rest.find('{'), rest.size());
    url += rest.substr(0, begin);
    rest.remove_prefix(begin);
    if (rest.empty()) break;
    const std::string_view name = rest.substr(1, rest.find('}') - 1);
    const auto known = std::ranges::find(segments_, name, [](const auto& one) { return one.first; });
    if (known != segments_.end()) url += known->second;
    rest.remove_prefix(name.size() + 2);
  }
  if (!query_.empty()) url.append("?").append(query_.view());
  http::ClientRequest request(method_, url);
  for (const Header& one : headers_) {
    if (one.is_secret) {
      request.secret_header(one.name, one.value);
    } else {
      request.header(one.name, one.value);
    }
  }
  if (!cookies_.empty()) request.header("Cookie", cookies_);
  if (writer_) {
    request.stream(media_type_, std::move(writer_), length_);
  } else if (has_body_) {
    request.body(body_.view(), media_type_);
  }
  return request;
}

}  // namespace keel::contract
