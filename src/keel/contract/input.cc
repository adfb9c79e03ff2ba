#include "keel/contract/input.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "keel/contract/internal/form.h"
#include "keel/contract/internal/header_list.h"
#include "keel/contract/internal/texts.h"
#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"
#include "keel/data/uri.h"
#include "keel/data/utf8.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/negotiate.h"
#include "keel/http/server/cookie.h"

namespace keel::contract {
namespace {

using internal::element_of;
using internal::is_list;
using internal::is_number;
using internal::not_utf8;
using internal::Pair;
using internal::part_of;
using internal::Texts;
using internal::write_members;

constexpr Complaint missing = {"is required", "required"};
constexpr const char* too_many = "has more than 256 members";
constexpr const char* broken_escape = "has a '%' without two hexadecimal digits after it";

// Reads the number as in JSON: 16, 16.0 and 1.6e1 are the same integer.
template <class T, class Read>
Complaint read_whole(std::string_view text, T& value, const IntegerRange& range, Read read) {
  if (!is_number(text)) return {"expected an integer", "type"};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) [[likely]] {
    if (std::cmp_greater_equal(value, range.least) && std::cmp_less_equal(value, range.most)) [[likely]]
      return {};
    return {range.expected, "format"};
  }
  Arena arena;
  json::Reader in(text, arena);
  value = read(in);
  if (!in.failed()) return {};
  const json::Problem problem = in.problem();
  return {problem.message, problem.keyword};
}
template <class T>
Complaint read_real(std::string_view text, T& value) {
  if (!is_number(text)) return {"expected a number", "type"};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value - value != 0) return {"number out of range", "format"};
  return {};
}

std::string_view keep(http::Request& request, std::string_view text) {
  const std::span<char> kept = request.arena().array<char>(text.size());
  std::copy_n(text.data(), text.size(), kept.data());
  return {kept.data(), kept.size()};
}

template <class F>
void split(std::string_view text, std::string_view separator, F f) {
  while (!text.empty()) {
    const std::size_t at = text.find(separator);
    f(text.substr(0, at));
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + separator.size());
    if (text.empty()) f(text);
  }
}

// In the raw text of a list or an object in a query, replaces each escaped separator with '+' in the style
// SpaceDelimited, and with '|' in the style PipeDelimited.
std::string delimited(std::string_view raw, Style style) {
  std::string text(raw);
  for (std::size_t at = 0; (at = text.find('%', at)) != std::string::npos; ++at) {
    const std::string_view escape = std::string_view(text).substr(at, 3);
    if (style == Style::SpaceDelimited && escape == "%20") text.replace(at, 3, "+");
    if (style == Style::PipeDelimited && (escape == "%7C" || escape == "%7c")) text.replace(at, 3, "|");
  }
  return text;
}
std::string_view delimiter_of(Style style) noexcept {
  return style == Style::SpaceDelimited ? "+" : style == Style::PipeDelimited ? "|" : "";
}

// Calls `f` with each pair of a query; the pairs are not decoded.
template <class F>
void each_raw_pair(std::string_view query, F f) {
  split(query, "&", [&](std::string_view pair) {
    if (pair.empty()) return;
    const std::size_t at = pair.find('=');
    f(pair.substr(0, at), at == std::string_view::npos ? std::string_view() : pair.substr(at + 1));
  });
}

bool decodes_to(std::string_view raw, std::string_view name, Arena& arena) {
  if (raw.find_first_of("%+") == std::string_view::npos) return raw == name;
  const auto decoded = uri::percent_decode(raw, arena, uri::Plus::Space);
  return decoded && *decoded == name;
}

}  // namespace

void Input::refuse(const Parameter& parameter, Complaint why, std::string_view part) {
  unreadable_.add(std::string(parameter.name).append(part), why.message, why.keyword);
}
void Input::reject(const Parameter& parameter, Complaint why, std::string_view part) {
  wrong_.add(std::string(parameter.name).append(part), why.message, why.keyword);
}

void Input::refuse_number(const Parameter& parameter, Complaint why) {
  if (why.keyword == std::string_view("type")) {
    refuse(parameter, why);
  } else {
    reject(parameter, why);
  }
}
Complaint Input::read_integer(std::string_view text, std::int64_t& value, const IntegerRange& range) {
  return read_whole(text, value, range, [&](json::Reader& in) { return in.int64(range); });
}
Complaint Input::read_integer(std::string_view text, std::uint64_t& value, const IntegerRange& range) {
  return read_whole(text, value, range, [&](json::Reader& in) { return in.uint64(range); });
}
Complaint Input::read_number(std::string_view text, double& value) { return read_real(text, value); }
Complaint Input::read_number(std::string_view text, float& value) { return read_real(text, value); }

std::optional<std::string_view> Input::find_raw(const Parameter& parameter) {
  std::optional<std::string_view> found;
  switch (parameter.place) {
    case Place::Path: {
      found = request_.raw_path_param(parameter.in_route);
      const bool has_dot = parameter.style == Style::Label;
      const bool has_semicolon = parameter.style == Style::Matrix;
      if (has_dot || has_semicolon) {
        if (!found->starts_with(has_dot ? '.' : ';')) {
          refuse(parameter, {has_dot ? "expected a '.' at the beginning" : "expected a ';' at the beginning"});
          return std::nullopt;
        }
        found->remove_prefix(1);
      }
      break;
    }
    case Place::Query: {
      bool is_twice = false;
      each_raw_pair(request_.query(), [&](std::string_view name, std::string_view raw) {
        if (!decodes_to(name, parameter.name, request_.arena())) return;
        is_twice = is_twice || found.has_value();
        if (!found) found = raw;
      });
      if (is_twice) {
        refuse(parameter, {"is given more than once"});
        return std::nullopt;
      }
      break;
    }
    case Place::Header:
      found = request_.header_list(parameter.name);
      break;
    case Place::Cookie:
      found = http::find_cookie(request_, parameter.name);
      break;
  }
  if (!found && parameter.is_required) refuse(parameter, missing);
  return found;
}

std::optional<std::string_view> Input::decode(const Parameter& parameter, std::string_view raw) {
  if (parameter.place == Place::Header) return raw;
  const auto plus = parameter.place == Place::Query ? uri::Plus::Space : uri::Plus::Literal;
  const auto decoded = uri::percent_decode(raw, request_.arena(), plus, uri::Nul::Taken);
  if (decoded) return *decoded;
  refuse(parameter, {broken_escape});
  return std::nullopt;
}

bool Input::take_text(const Parameter& parameter, std::string_view text) {
  if (utf8::is_valid(text)) return true;
  refuse(parameter, {not_utf8});
  return false;
}

std::optional<std::string_view> Input::find(const Parameter& parameter) {
  auto raw = find_raw(parameter);
  if (raw && parameter.style == Style::Matrix) {
    const std::size_t at = raw->find('=');
    if (raw->substr(0, at) != parameter.name) {
      refuse(parameter, {"expected the parameter's name and a '=' before the value"});
      return std::nullopt;
    }
    raw = at == std::string_view::npos ? std::string_view() : raw->substr(at + 1);
  }
  return raw ? decode(parameter, *raw) : raw;
}

std::optional<std::string_view> Input::find_list(const Parameter& parameter, Form element) {
  Texts texts;
  texts.out().begin_array();
  const auto add = [&](std::string_view raw) {
    if (const auto text = decode(parameter, raw)) texts.write(element, *text);
  };
  if (parameter.place == Place::Query && parameter.style == Style::Form && parameter.explodes) {
    bool is_there = false;
    each_raw_pair(request_.query(), [&](std::string_view name, std::string_view raw) {
      if (!decodes_to(name, parameter.name, request_.arena())) return;
      is_there = true;
      add(raw);
    });
    if (!is_there) {
      if (parameter.is_required) refuse(parameter, missing);
      return std::nullopt;
    }
  } else {
    auto raw = find_raw(parameter);
    if (!raw) return std::nullopt;
    if (parameter.style == Style::Matrix) {
      // ";tags=a;tags=b" or ";tags=a,b".
      const std::string head = std::string(parameter.name) + '=';
      bool is_good = true;
      split(*raw, parameter.explodes ? ";" : "\n", [&](std::string_view part) {
        is_good = is_good && part.starts_with(head);
        if (!is_good) return;
        part.remove_prefix(head.size());
        if (parameter.explodes) {
          add(part);
        } else {
          split(part, ",", add);
        }
      });
      if (!is_good) {
        refuse(parameter, {"expected the parameter's name and a '=' before the value"});
        return std::nullopt;
      }
    } else if (parameter.place == Place::Header) {
      internal::HeaderList list(*raw);
      while (const auto part = list.next()) texts.write(element, part->value(request_.arena()));
    } else if (const std::string_view delimiter = delimiter_of(parameter.style); !delimiter.empty()) {
      split(keep(request_, delimited(*raw, parameter.style)), delimiter, add);
    } else {
      split(*raw, parameter.style == Style::Label && parameter.explodes ? "." : ",", add);
    }
  }
  texts.out().end_array();
  if (texts.problem() != nullptr) {
    refuse(parameter, {texts.problem()});
    return std::nullopt;
  }
  misfits_ = texts.has_misfits();
  return keep(request_, texts.text().view());
}

std::optional<std::string_view> Input::find_object(const Parameter& parameter, std::span<const Field> fields,
                                                   Form others) {
  const std::span<Pair> pairs = request_.arena().array<Pair>(pairs_max);
  std::size_t count = 0;
  bool is_good = true;
  const auto add = [&](std::string_view raw_name, std::string_view raw_text) {
    const auto name = decode(parameter, raw_name);
    const auto text = decode(parameter, raw_text);
    if (!name || !text) {
      is_good = false;
    } else if (count == pairs.size()) {
      refuse(parameter, {too_many});
      is_good = false;
    } else {
      pairs[count++] = {*name, *text};
    }
  };
  if (parameter.style == Style::DeepObject) {
    const std::string head = std::string(parameter.name) + '[';
    each_raw_pair(request_.query(), [&](std::string_view raw_name, std::string_view raw) {
      const auto name = uri::percent_decode(raw_name, request_.arena(), uri::Plus::Space);
      if (!is_good || !name || !name->starts_with(head) || !name->ends_with(']')) return;
      const std::string_view member = name->substr(head.size(), name->size() - head.size() - 1);
      const auto text = decode(parameter, raw);
      is_good = text.has_value() && count != pairs.size();
      if (count == pairs.size()) refuse(parameter, {too_many});
      if (is_good) pairs[count++] = {member, *text};
    });
  } else if (parameter.place == Place::Query && parameter.explodes) {
    each_raw_pair(request_.query(), [&](std::string_view raw_name, std::string_view raw) {
      const bool is_known = std::ranges::any_of(
          fields, [&](const Field& field) { return decodes_to(raw_name, field.name, request_.arena()); });
      if (is_good && is_known) add(raw_name, raw);
    });
  } else if (const auto raw = find_raw(parameter)) {
    std::string_view text = *raw;
    if (parameter.style == Style::Matrix && !parameter.explodes) {
      const std::string head = std::string(parameter.name) + '=';
      if (!text.starts_with(head)) {
        refuse(parameter, {"expected the parameter's name and a '=' before the value"});
        return std::nullopt;
      }
      text.remove_prefix(head.size());
    }
    const std::string_view delimiter = delimiter_of(parameter.style);
    const std::string_view separator = !delimiter.empty()                 ? delimiter
                                       : !parameter.explodes              ? ","
                                       : parameter.style == Style::Matrix ? ";"
                                       : parameter.style == Style::Label  ? "."
                                                                          : ",";
    if (!delimiter.empty()) text = keep(request_, delimited(text, parameter.style));
    const bool is_header = parameter.place == Place::Header;
    std::optional<std::string_view> name;
    const auto take = [&](std::string_view part) {
      if (parameter.explodes) {
        const std::size_t at = part.find('=');
        if (at == std::string_view::npos) {
          is_good = false;
        } else {
          const std::string_view its = part.substr(at + 1);
          add(part.substr(0, at), is_header ? internal::unquoted(its, request_.arena()) : its);
        }
      } else if (!name) {
        name = part;
      } else {
        add(*name, part);
        name.reset();
      }
    };
    if (is_header) {
      internal::HeaderList list(text);
      while (const auto part = list.next_or_empty()) {
        // RFC 9110 §5.6.1.2: empty elements are ignored; but where the value of a member is expected, an empty element
        // is an empty value, as RFC 6570 §3.2.1 writes it.
        if (part->text.empty() && (parameter.explodes || !name)) continue;
        take(parameter.explodes ? part->text : part->value(request_.arena()));
      }
    } else {
      split(text, separator, take);
    }
    if (!is_good || name) {
      refuse(parameter,
             {parameter.explodes ? "expected pairs: name=value,name=value" : "expected pairs: name,value,name,value"});
      return std::nullopt;
    }
  } else {
    return std::nullopt;
  }
  if (!is_good) return std::nullopt;
  if (count == 0) {
    if (parameter.is_required) refuse(parameter, missing);
    return std::nullopt;
  }
  Texts texts;
  write_members(texts, pairs.first(count), fields, others, [&](std::string_view name) {
    refuse(parameter, {"is given more than once"}, '[' + std::string(name) + ']');
    is_good = false;
  });
  if (texts.problem() != nullptr) refuse(parameter, {texts.problem()});
  if (!is_good || texts.problem() != nullptr) return std::nullopt;
  misfits_ = texts.has_misfits();
  return keep(request_, texts.text().view());
}

std::optional<std::string_view> Input::find_text_or_list(const Parameter& parameter, Form single, Form element) {
  const auto given = find_list(parameter, element);
  if (!given) return given;
  Arena arena;
  json::Reader in(*given, arena);
  std::size_t count = 0;
  for (in.begin_array(); in.next_element(); ++count) in.skip();
  if (count > 1) return given;
  if (count == 1) {
    const auto alone = find_list(parameter, single);
    return alone ? alone->substr(1, alone->size() - 2) : alone;
  }
  return single == Form::Bare ? given : "\"\"";
}

std::optional<std::string_view> Input::find_text_or_object(const Parameter& parameter, Form single,
                                                           std::span<const Field> fields, Form others) {
  Parameter optional = parameter;
  optional.is_required = false;
  if (const auto object = find_object(optional, fields, others)) return object;
  if (!unreadable_.empty()) return std::nullopt;
  const auto given = find(parameter);
  if (!given) return given;
  Texts texts;
  texts.write(single, *given);
  if (texts.problem() != nullptr) {
    refuse(parameter, {texts.problem()});
    return std::nullopt;
  }
  misfits_ = texts.has_misfits();
  return keep(request_, texts.text().view());
}

void Input::read_text(const Parameter& parameter, Form form, std::string_view text, ReadField read, void* value) {
  Texts texts;
  texts.write(form, text);
  if (texts.problem() != nullptr) return refuse(parameter, {texts.problem()});
  misfits_ = texts.has_misfits();
  read_json(parameter, keep(request_, texts.text().view()), read, value);
}

void Input::read_json(const Parameter& parameter, std::string_view json, ReadField read, void* value) {
  Violations wrong;
  if (json::internal::read_text(json, request_.arena(), {}, read, value, wrong)) return;
  for (const Violation& one : wrong) {
    // A value of the wrong type counts as unreadable (400), not as a value that violates its schema (422).
    Violations& to = misfits_ || wrong.is_malformed() || one.keyword == "type" ? unreadable_ : wrong_;
    to.add(std::string(parameter.name) + part_of(one.pointer), one.message, one.keyword);
  }
}

Result<> Input::finish() {
  if (unreadable_.empty() && wrong_.empty()) [[likely]]
    return {};
  if (unreadable_.empty()) return http::Rejection::error(http::Rejection::What::ParameterValues, std::move(wrong_));
  for (const Violation& one : wrong_) unreadable_.add(one.pointer, one.message, one.keyword);
  return http::Rejection::error(http::Rejection::What::Parameters, std::move(unreadable_));
}

bool Input::is_body(std::string_view media_type) const noexcept {
  return http::is_of_media_range(request_.header(http::Known::ContentType).value_or(std::string_view()), media_type);
}

Result<> Input::streamed_body() const {
  if (request_.head().body() == http::BodyKind::None && !request_.header("Content-Type")) {
    return fail(Code::InvalidArgument, "a request body is required");
  }
  return {};
}

Result<> Input::read_body(bool (*read)(void*, std::string_view, Arena&, Violations&), void* value) {
  return request_.read_json(read, value, std::source_location::current());
}

Result<> receive(http::Request& request, const Asked& asked, void* to) {
  Input in(request);
  for (const Received& received : asked.parameters) {
    received.take(in, received, static_cast<std::byte*>(to) + received.offset);
  }
  KEEL_TRY_VOID(in.finish());
  if (asked.json != nullptr) return in.receive_body(*asked.json, static_cast<std::byte*>(to) + asked.json->offset);
  return asked.body != nullptr ? asked.body(in, to) : Result<>();
}
Result<> Input::receive_body(const ReceivedBody& body, void* member) {
  if (!body.is_required && request_.body().empty()) return {};
  return read_body(body.read, body.room != nullptr ? body.room(member) : member);
}

Result<> Input::read_form(std::span<const Field> fields, Form others, ReadField read, void* value) {
  const std::span<Pair> pairs = request_.arena().array<Pair>(pairs_max);
  std::size_t count = 0;
  Violations wrong;
  if (is_body("multipart/form-data")) {
    KEEL_TRY(const std::span<const http::FormPart> parts, http::read_form(request_));
    for (const http::FormPart& part : parts) {
      // For a file input in which no file was chosen, a browser sends a part with an empty file name.
      if (part.filename && part.filename->empty() && part.body.empty()) continue;
      if (count == pairs.size()) return fail(Code::InvalidArgument, "the form has more than 256 fields");
      pairs[count++] = {part.name, part.body};
      internal::check_media_type(part, fields, wrong);
    }
  } else {
    uri::QueryPairs all(request_.body(), request_.arena(), pairs_max, uri::Nul::Taken);
    while (const auto pair = all.next()) pairs[count++] = {pair->key, pair->value};
    KEEL_TRY_VOID(all.finish());
  }
  internal::read_fields(request_.arena(), pairs.first(count), fields, others, read, value, wrong);
  if (wrong.empty()) return {};
  return http::Rejection::error(http::Rejection::What::Form, std::move(wrong));
}

Result<std::string_view> Input::read_text_body() {
  const std::string_view text = request_.body();
  if (!utf8::is_valid(text)) {
    Violations wrong;
    wrong.set_malformed({"", not_utf8});
    return http::Rejection::error(http::Rejection::What::Body, std::move(wrong));
  }
  return text;
}

}  // namespace keel::contract
