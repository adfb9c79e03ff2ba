#include "load/mix.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>

#include "keel/http/message/fields.h"
#include "load/text.h"

namespace keel::load {
namespace {

constexpr std::size_t file_bytes_max = 64u << 20;

Error wrong(const std::string& where, const std::string& what) {
  return Error::text(Code::InvalidArgument, where + ": " + what);
}

// Header fields that determine where a message ends and whether the connection stays open; only keel load itself writes
// them.
bool is_own_field(std::string_view name) noexcept {
  constexpr std::string_view own[] = {"content-length", "transfer-encoding", "connection", "expect", "upgrade"};
  return std::any_of(std::begin(own), std::end(own),
                     [&](std::string_view one) { return http::equals_ignore_case(name, one); });
}

// A mistake within a file: the line, and the description of the mistake.
struct Refused {
  int line;
  std::string what;
};

// Converts a YAML file to requests. Both yaml-cpp and this class throw exceptions; parse_mix() converts the exceptions
// to errors.
class MixFile {
 public:
  explicit MixFile(const std::string& name) : name_(name) {}

  std::vector<RequestText> read(const std::string& text) {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      throw Refused{line_of(documents[1]), "the file has a second YAML document: a mix is one list"};
    }
    const YAML::Node root = documents.empty() ? YAML::Node() : documents[0];
    if (!root.IsSequence() || root.size() == 0) {
      throw Refused{1, "a mix is a list of requests such as '- request: GET /path'"};
    }
    std::vector<RequestText> requests;
    for (const YAML::Node& node : root) requests.push_back(request(node));
    return requests;
  }

 private:
  static int line_of(const YAML::Node& node) { return node.Mark().line + 1; }
  static std::string text_of(const YAML::Node& node, const std::string& key) {
    if (!node.IsScalar()) throw Refused{line_of(node), key + ": a text is expected"};
    return node.Scalar();
  }
  static std::uint64_t count_of(const YAML::Node& node, const std::string& key, std::uint64_t min, std::uint64_t max) {
    const auto value = parse_count(text_of(node, key));
    if (value && *value >= min && *value <= max) return *value;
    throw Refused{line_of(node), key + ": a number from " + std::to_string(min) + " to " + std::to_string(max) +
                                     " is expected, not '" + node.Scalar() + "'"};
  }
  [[noreturn]] static void unknown(const YAML::Node& key, const std::string& known) {
    throw Refused{line_of(key), "unknown key '" + key.as<std::string>() + "'; there are " + known};
  }

  // yaml-cpp accepts repeated keys, but would use only one of their values.
  static void refuse_key_twice(const YAML::Node& map) {
    std::vector<std::string> seen;
    for (const auto& entry : map) {
      const YAML::Node& key = entry.first;
      const auto name = key.as<std::string>();
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
        throw Refused{line_of(key), "key '" + name + "' is given twice"};
      }
      seen.push_back(name);
    }
  }

  RequestText request(const YAML::Node& node) {
    if (!node.IsMap()) throw Refused{line_of(node), "expected a request such as 'request: GET /path'"};
    refuse_key_twice(node);
    RequestText request;
    request.where = name_ + ':' + std::to_string(line_of(node));
    bool has_request = false;
    for (const auto& entry : node) {
      const YAML::Node& key_node = entry.first;
      const YAML::Node& value = entry.second;
      const auto key = key_node.as<std::string>();
      if (key == "request") {
        has_request = true;
        if (auto parsed = parse_request_line(text_of(value, key), request); !parsed) {
          throw Refused{line_of(value), std::string(parsed.error().message())};
        }
      } else if (key == "weight") {
        request.weight = count_of(value, key, 1, 1'000'000);
      } else if (key == "headers") {
        if (!value.IsMap())
          throw Refused{line_of(value), "headers: expected names with values, such as {Accept: text/plain}"};
        for (const auto& pair : value) {
          const YAML::Node& name = pair.first;
          const YAML::Node& field = pair.second;
          request.headers.emplace_back(name.as<std::string>(), text_of(field, "headers." + name.as<std::string>()));
        }
      } else if (key == "body" || key == "body_file") {
        if (request.body) throw Refused{line_of(key_node), "body and body_file: only one of them may be given"};
        request.body = key == "body" ? text_of(value, key) : file(value);
      } else if (key == "expect") {
        expect(value, request.check);
      } else {
        unknown(key_node, "request, weight, headers, body, body_file and expect");
      }
    }
    if (!has_request) throw Refused{line_of(node), "request is missing, such as 'request: GET /path'"};
    return request;
  }

  std::string file(const YAML::Node& value) {
    const std::string path = text_of(value, "body_file");
    const std::size_t slash = name_.rfind('/');
    const bool is_beside = !path.starts_with('/') && slash != std::string::npos;
    auto text = read_file(is_beside ? name_.substr(0, slash + 1) + path : path, file_bytes_max);
    if (!text) throw Refused{line_of(value), "body_file: " + text.error().describe()};
    return *std::move(text);
  }

  static void expect(const YAML::Node& node, Check& check) {
    if (!node.IsMap()) throw Refused{line_of(node), "expect: expected conditions such as {status: 200}"};
    refuse_key_twice(node);
    for (const auto& entry : node) {
      const YAML::Node& key_node = entry.first;
      const YAML::Node& value = entry.second;
      const auto key = key_node.as<std::string>();
      if (key == "status") {
        check.status = static_cast<int>(count_of(value, "expect.status", 200, 599));
      } else if (key == "body") {
        check.body = text_of(value, "expect.body");
      } else if (key == "contains") {
        if (value.IsScalar()) check.contains.push_back(value.Scalar());
        if (value.IsSequence()) {
          for (const YAML::Node& one : value) check.contains.push_back(text_of(one, "expect.contains"));
        }
        if (check.contains.empty())
          throw Refused{line_of(value), "expect.contains: a text or a list of texts is expected"};
      } else if (key == "length") {
        check.length = count_of(value, "expect.length", 0, ~std::uint64_t{0});
      } else if (key == "json") {
        if (!value.IsMap()) throw Refused{line_of(value), "expect.json: expected members such as {user.name: Ada}"};
        for (const auto& pair : value) {
          const YAML::Node& path = pair.first;
          const YAML::Node& member = pair.second;
          check.json.push_back({path.as<std::string>(), text_of(member, "expect.json")});
        }
      } else {
        unknown(key_node, "status, body, contains, length and json");
      }
    }
  }

  const std::string& name_;
};

}  // namespace

Result<> parse_request_line(std::string_view text, RequestText& request) {
  const std::size_t blank = text.find(' ');
  request.method = blank == std::string_view::npos ? "GET" : std::string(text.substr(0, blank));
  request.target = blank == std::string_view::npos ? text : text.substr(blank + 1);
  if (!http::is_token(request.method) || request.method == "CONNECT") {
    return Error::text(Code::InvalidArgument, "'" + request.method + "' is not a method that can be sent");
  }
  const bool is_plain =
      std::all_of(request.target.begin(), request.target.end(), [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
  if (!request.target.starts_with('/') || !is_plain) {
    return Error::text(Code::InvalidArgument,
                       "'" + request.target +
                           "' is not a path: it begins with '/' and has neither blanks nor '#' nor "
                           "bytes beyond ASCII (percent-encode them)");
  }
  return {};
}

Result<std::vector<RequestText>> parse_mix(const std::string& text, const std::string& name) {
  try {
    return MixFile(name).read(text);
  } catch (const Refused& refused) {
    return wrong(name + ':' + std::to_string(refused.line), refused.what);
  } catch (const YAML::Exception& problem) {
    return wrong(name + ':' + std::to_string(problem.mark.line + 1), problem.msg);
  }
}

Result<std::vector<RequestText>> read_mix(const std::string& path) {
  KEEL_TRY(const std::string text, read_file(path, file_bytes_max));
  return parse_mix(text, path);
}

Result<Request> Request::compile(const RequestText& text, std::string_view host, const Csv* csv) {
  Request request;
  const auto compile_template = [&](std::string_view from, Template::Escape escape) {
    return Template::compile(from, csv, escape).because(text.where);
  };
  KEEL_TRY(request.target_, compile_template(text.target, Template::Escape::Percent));
  if (text.body) {
    KEEL_TRY(request.body_, compile_template(*text.body, Template::Escape::None));
  }
  std::string own_host;
  for (const auto& [name, value] : text.headers) {
    if (!http::is_token(name) || !http::is_field_value(value)) {
      return wrong(text.where, "'" + name + ": " + value + "' is not a header field");
    }
    if (is_own_field(name)) return wrong(text.where, "the field " + name + " is written by keel load itself");
    if (http::equals_ignore_case(name, "host")) {
      own_host = value;
    } else {
      request.fields_ += name + ": " + value + "\r\n";
    }
  }
  request.fields_ =
      " HTTP/1.1\r\nHost: " + (own_host.empty() ? std::string(host) : own_host) + "\r\n" + request.fields_;
  request.method_ = text.method;
  request.is_head_ = text.method == "HEAD";
  request.has_body_ = text.body.has_value();
  request.check_ = text.check;
  request.checks_body_ = text.check.needs_body();
  if (request.target_.is_fixed() && request.body_.is_fixed()) {
    Random random(0);
    Buffer scratch;
    for (const bool closes : {false, true}) {
      Buffer out;
      request.write(out, 1, random, closes, scratch);
      (closes ? request.closing_text_ : request.text_) = out.view();
    }
    request.is_fixed_ = true;
  }
  return request;
}

void Request::write(Buffer& out, std::uint64_t n, Random& random, bool closes, Buffer& scratch) const {
  out.append(method_);
  out.push_back(' ');
  target_.fill(out, n, random);
  out.append(fields_);
  if (closes) out.append("Connection: close\r\n");
  if (!has_body_) return out.append("\r\n");
  scratch.clear();
  body_.fill(scratch, n, random);
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, scratch.size()).ptr;
  out.append("Content-Length: ");
  out.append({digits, static_cast<std::size_t>(end - digits)});
  out.append("\r\n\r\n");
  out.append(scratch.view());
}

Result<Mix> Mix::compile(const std::vector<RequestText>& texts, std::string_view host, const Csv* csv) {
  Mix mix;
  std::uint64_t end = 0;
  for (const RequestText& text : texts) {
    KEEL_TRY(Request request, Request::compile(text, host, csv));
    mix.requests_.push_back(std::move(request));
    mix.ends_.push_back(end += text.weight);
  }
  return mix;
}

const Request& Mix::pick_by_weight(Random& random) const noexcept {
  const std::uint64_t at = random.below(ends_.back());
  std::size_t index = 0;
  while (ends_[index] <= at) ++index;
  return requests_[index];
}

}  // namespace keel::load
