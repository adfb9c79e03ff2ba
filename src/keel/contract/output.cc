#include "keel/contract/output.h"

#include <algorithm>
#include <cstddef>

#include "keel/base/arena.h"
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

// The separator between the elements of a list, and between the pairs of an exploded object.
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

struct Output::Pair {
  std::string_view name;
  std::string_view text;
  Form form;
};

void Output::refuse(std::string_view what, std::string_view why) {
  if (problem_.empty()) problem_ = std::string(what) + ": " + std::string(why);
}

std::string Output::escaped(const Parameter& parameter, std::string_view text, std::string_view separators) {
  if (parameter.place == Place::Header) {
    if (!http::is_field_value(text)) refuse(parameter.name, "a header has no control characters");
    if (text.size() != http::trim_blanks(text).size()) refuse(parameter.name, "a header loses the blanks at its ends");
    if (text.find_first_of(separators) != std::string_view::npos) {
      refuse(parameter.name, "a part of its value contains one of the separators '" + std::string(separators) +
                                 "', which a header cannot escape");
    }
    return std::string(text);
  }
  const char delimiter = parameter.style == Style::SpaceDelimited  ? ' '
                         : parameter.style == Style::PipeDelimited ? '|'
                                                                   : '\0';
  if (delimiter != '\0' && !separators.empty() && text.find(delimiter) != std::string_view::npos) {
    refuse(parameter.name,
           delimiter == ' ' ? "an element of spaceDelimited has no blank" : "an element of pipeDelimited has no '|'");
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
      if (text.empty()) refuse(parameter.name, "a parameter of a path is not empty");
      // Clients remove dot segments from a path; those of a label cannot be written in another way.
      if (parameter.style == Style::Label) {
        if (text == "." || text == "..") refuse(parameter.name, "a label is not empty");
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
      if (!http::is_token(parameter.name)) refuse(parameter.name, "is not the name of a cookie");
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

void Output::put_list(const Parameter& parameter, Form form, const Buffer& json) {
  Arena arena;
  json::Reader in(json.view(), arena);
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
      return refuse(parameter.name, "a list of one empty text would be read as an empty list");
    return put_whole(parameter, head + whole);
  }
  if (parameter.style == Style::Matrix) return put_whole(parameter, count == 0 ? ";" : std::move(whole));
  if (count == 0 && parameter.is_required) refuse(parameter.name, "an empty list cannot be sent");
}

std::vector<Output::Pair> Output::pairs_of(std::string_view what, std::span<const Field> fields, Form others,
                                           std::string_view json, Arena& arena) {
  std::vector<Pair> pairs;
  json::Reader in(json, arena);
  in.begin_object();
  while (const auto name = in.next_key()) {
    const auto known = std::ranges::find(fields, *name, &Field::name);
    const Form form = known != fields.end() ? known->form : others;
    if (!internal::is_list(form) || in.peek() != json::Kind::Array) {
      pairs.push_back({*name, text_of(what, form, in, arena), form});
      continue;
    }
    for (in.begin_array(); in.next_element();) {
      const Form element = internal::element_of(form);
      pairs.push_back({*name, text_of(what, element, in, arena), element});
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
  const bool is_matrix = parameter.style == Style::Matrix;
  const std::string_view separator = !parameter.explodes ? "," : is_matrix ? ";" : separator_of(parameter);
  const std::string separators = std::string(separator) + (parameter.explodes ? "=" : "");
  std::string whole = is_matrix ? (parameter.explodes ? ";" : ';' + percent_encoded(parameter.name) + '=')
                      : parameter.style == Style::Label ? "."
                                                        : "";
  bool is_first = true;
  for (const Pair& pair : pairs) {
    if (!is_first) whole += separator;
    is_first = false;
    whole += escaped(parameter, pair.name, separators);
    whole += parameter.explodes ? "=" : ",";
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
  // A cookie is not decoded unless a specification says so (RFC 6265 §4.1.1).
  const bool is_sendable = std::ranges::all_of(
      value, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\'; });
  if (!http::is_token(name) || !is_sendable) refuse(name, "is not the text of a cookie");
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

void Output::put_form(std::string_view media_type, std::span<const Field> fields, Form others, const Buffer& json) {
  Arena arena;
  const std::vector<Pair> pairs = pairs_of("the form", fields, others, json.view(), arena);
  put_body({}, media_type);
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

void Output::write_multipart(std::span<const Pair> pairs) {
  // RFC 2046 §5.1.1: a line that occurs in no part.
  std::string boundary;
  for (int number = 0; boundary.empty(); ++number) {
    std::string tried = "----keel-form-" + std::to_string(number);
    const auto has_it = [&](const Pair& pair) { return pair.text.find(tried) != std::string_view::npos; };
    if (std::ranges::none_of(pairs, has_it)) boundary = std::move(tried);
  }
  for (const Pair& pair : pairs) {
    if (pair.name.find_first_of(std::string_view("\0\r\n", 3)) != std::string_view::npos) {
      refuse("the form", "a name has a line end or U+0000");
    }
    std::string name;
    for (const char c : pair.name) {
      if (c == '"' || c == '\\') name += '\\';
      name += c;
    }
    body_.append("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name + '"');
    if (pair.form == Form::File) {
      body_.append("; filename=\"" + name + "\"\r\nContent-Type: application/octet-stream");
    } else if (pair.form == Form::Json) {
      body_.append("\r\nContent-Type: application/json");
    }
    body_.append("\r\n\r\n");
    body_.append(pair.text);
    body_.append("\r\n");
  }
  body_.append("--" + boundary + "--\r\n");
  media_type_ += "; boundary=" + boundary;
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
