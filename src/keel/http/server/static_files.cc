#include "keel/http/server/static_files.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/http/message/date.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/media_type.h"
#include "keel/http/message/precondition.h"
#include "keel/http/message/range.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/problem.h"
#include "keel/io/file.h"
#include "keel/observe/log.h"

namespace keel::http {
namespace {

constexpr std::size_t ranges_max = 8;
// A body of at most this size is sent together with its head; a larger one is sent in pieces.
constexpr std::uint64_t whole_bytes_max = 32 * 1024;
constexpr std::uint64_t piece_bytes_max = 64 * 1024;
constexpr std::int64_t weak_ns = 2'000'000'000;

Response not_found() { return refuse(Status::NotFound, "there is no such file"); }

// Whether open(2) failed because the path does not exist or leads out of the folder, or because access is denied.
bool is_absent(const Error& error) noexcept {
  constexpr int absent[] = {ENOENT, ENOTDIR, EXDEV, ELOOP, EACCES, EPERM, ENAMETOOLONG, EISDIR, ENXIO, EINVAL};
  return std::ranges::find(absent, error.errno_value()) != std::end(absent);
}

bool is_shown(std::string_view path, bool hidden) noexcept {
  std::size_t at = 0;
  while (at <= path.size()) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = path.substr(at, end - at);
    if (segment.empty() || segment == "." || segment == "..") return false;
    const bool well_known = at == 0 && segment == ".well-known";
    if (segment.front() == '.' && !hidden && !well_known) return false;
    at = end + 1;
  }
  return true;
}

// The path of the file relative to the folder, from the decoded rest of the request's path; nullopt if this path is not
// served.
std::optional<std::string> path_of(std::string_view rest, const StaticFilesOptions& options) {
  std::string path(rest);
  if (path.empty() || path.ends_with('/')) {
    if (options.index.empty()) return std::nullopt;
    path += options.index;
  }
  if (!is_shown(path, options.hidden)) return std::nullopt;
  return path;
}

// The path, relative to the folder, of a file that was opened through a link; nullopt if the file was moved out of the
// folder after it was opened, or if the system does not report the path.
std::optional<std::string> path_behind_links(const File& folder, const File& file) {
  const auto path = [](const File& open) {
    char text[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(open.descriptor());
    const ssize_t size = ::readlink(link.c_str(), text, sizeof text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
  };
  const std::string root = path(folder) + "/";
  const std::string whole = path(file);
  if (!whole.starts_with(root)) return std::nullopt;
  return whole.substr(root.size());
}

// If the links in `path` lead to a file that may be served, opens this file.
Task<File> open_by_links(File& folder, std::string path) {
  File file = co_await folder.open_beneath(std::move(path));
  const std::optional<std::string> behind = path_behind_links(folder, file);
  if (!behind || !is_shown(*behind, false)) co_await Error::from_errno("open", ENOENT);
  co_return file;
}

struct Text {
  std::array<char, 64> bytes;
  std::size_t size = 0;

  std::string_view view() const noexcept { return {bytes.data(), size}; }
  Text& add(std::string_view text) noexcept {
    size = static_cast<std::size_t>(std::ranges::copy(text, bytes.data() + size).out - bytes.data());
    return *this;
  }
  Text& add(std::uint64_t number, int base = 10) noexcept {
    size = static_cast<std::size_t>(std::to_chars(bytes.data() + size, bytes.data() + bytes.size(), number, base).ptr -
                                    bytes.data());
    return *this;
  }
};

Text etag_of(const FileStatus& status, std::int64_t now_ns) noexcept {
  Text tag;
  const bool is_young = status.modified_ns > now_ns - weak_ns;
  tag.add(is_young ? "W/\"" : "\"").add(status.size, 16).add("-");
  return tag.add(static_cast<std::uint64_t>(status.modified_ns), 16).add("\"");
}

Text content_range(const Range& range, std::uint64_t size) noexcept {
  return Text().add("bytes ").add(range.first).add("-").add(range.first + range.size - 1).add("/").add(size);
}

// The content of a response: parts of a file, with a text before each part and a text at the end. In the common case,
// there is a single part and no text.
struct Content {
  std::array<Range, ranges_max> ranges;
  // For each part, the position in `text` at which the text before the part ends.
  std::array<std::size_t, ranges_max> heads = {};
  std::size_t count = 0;
  Buffer text;
  std::uint64_t bytes = 0;  // The total size.
};

// Writes the texts between the parts of multipart/byteranges (RFC 9110 §14.6).
void separate(Content& content, std::string_view boundary, std::string_view type, std::uint64_t size) {
  for (std::size_t i = 0; i < content.count; ++i) {
    content.text.append("\r\n--");
    content.text.append(boundary);
    content.text.append("\r\nContent-Type: ");
    content.text.append(type);
    content.text.append("\r\nContent-Range: ");
    content.text.append(content_range(content.ranges[i], size).view());
    content.text.append("\r\n\r\n");
    content.heads[i] = content.text.size();
  }
  content.text.append("\r\n--");
  content.text.append(boundary);
  content.text.append("--\r\n");
}

// Redirects to the path of the folder with a final slash, because relative links in its index depend on the slash.
Response with_slash(Request& request) {
  std::string where = std::string(request.path()) + "/";
  if (request.head().has_query()) where.append("?").append(request.query());
  return Response(Status::MovedPermanently).header("Location", where);
}

constexpr const char* was_cut = "a file was truncated while it was read";

Task<> read_content(File& file, const Content& content, Buffer& into) {
  into.reserve(static_cast<std::size_t>(content.bytes));
  std::size_t from = 0;
  for (std::size_t i = 0; i < content.count; ++i) {
    into.append(content.text.view().substr(from, content.heads[i] - from));
    from = content.heads[i];
    for (Range left = content.ranges[i]; left.size != 0;) {
      const std::size_t room = static_cast<std::size_t>(left.size);
      const std::size_t got = co_await file.read(left.first, {into.reserve(room), room});
      if (got == 0) co_await fail(Code::Internal, was_cut);
      into.commit(got);
      left.first += got;
      left.size -= got;
    }
  }
  into.append(content.text.view().substr(from));
}

// Writes the content while it is sent, so that only one piece is in memory, whatever the size of the file is.
Task<> send_content(BodyWriter& out, File file, const Content& content) {
  Buffer piece;
  std::size_t from = 0;
  for (std::size_t i = 0; i < content.count; ++i) {
    co_await out.write(content.text.view().substr(from, content.heads[i] - from));
    from = content.heads[i];
    for (Range left = content.ranges[i]; left.size != 0;) {
      piece.clear();
      const auto room = static_cast<std::size_t>(std::min(left.size, piece_bytes_max));
      const std::size_t got = co_await file.read(left.first, {piece.reserve(room), room});
      if (got == 0) co_await fail(Code::Internal, was_cut);
      co_await out.write({piece.data(), got});
      left.first += got;
      left.size -= got;
    }
  }
  co_await out.write(content.text.view().substr(from));
}

}  // namespace

StaticFiles::StaticFiles(StaticFilesOptions options) : options_(std::move(options)) {
  KEEL_CHECK(!options_.folder.empty(), "StaticFiles needs a folder");
  KEEL_CHECK(options_.index.find('/') == std::string::npos, "the index must be a file name without a folder");
  KEEL_CHECK(is_field_value(options_.cache_control), "cache_control must be valid as the value of a field");
  KEEL_CHECK(is_field_value(options_.cross_origin_resource_policy),
             "cross_origin_resource_policy must be valid as the value of a field");
}

template <class R>
void StaticFiles::mount_in(R& routes, std::string_view prefix) {
  routes.get(std::string(prefix) + "/{path...}", *this, &StaticFiles::serve);
  if (!options_.index.empty() && !prefix.empty()) routes.get(prefix, &with_slash);
}

void StaticFiles::mount(Router& router, std::string_view prefix) { mount_in(router, prefix); }
void StaticFiles::mount(Group group, std::string_view prefix) { mount_in(group, prefix); }

Task<Response> StaticFiles::serve(Request& request) {
  const auto rest = co_await request.path_param<std::string_view>("path");
  std::optional<std::string> path = path_of(rest, options_);
  if (!path) co_return not_found();
  const std::string_view type = media_type_of(*path);

  Result<File> found = co_await attempt(File::open_folder(options_.folder));
  if (!found && is_absent(found.error())) {
    // The client must not see the message, because the server caused the error.
    co_return std::move(found).error().as(Code::Internal).because("static files");
  }
  // The task was stopped, for example because the client has disconnected; the folder is not the cause.
  if (!found && found.error().errno_value() == 0) co_return std::move(found).error();
  if (!found) {
    // Opening a folder may fail, for example because descriptors have run out. The client must not see the path of the
    // folder either.
    static const log::Logger log("http.static_files");
    log.warn("a folder of static files cannot be opened", found.error());
    co_return Error(found.error().code(), "the folder of this file cannot be opened");
  }
  File folder = co_await std::move(found);
  const File::Links links = options_.hidden ? File::Links::Followed : File::Links::Refused;
  Result<File> opened = co_await attempt(folder.open_beneath(*std::move(path), links));
  if (!opened && opened.error().errno_value() == ELOOP && links == File::Links::Refused) {
    opened = co_await attempt(open_by_links(folder, *path_of(rest, options_)));
  }
  if (!opened && is_absent(opened.error())) co_return not_found();
  File file = co_await std::move(opened);
  const FileStatus status = co_await file.status();
  if (status.is_folder() && !options_.index.empty()) co_return with_slash(request);
  if (!status.is_plain_file()) co_return not_found();

  const std::int64_t now_ns = Host::current().wall_ns();
  const std::int64_t now = now_ns / 1'000'000'000;
  const Text etag = etag_of(status, now_ns);
  // A time in the future is replaced by the current time, because a server must not send a Last-Modified in the future
  // (RFC 9110 §8.8.2.1).
  const std::int64_t modified = std::min(status.modified_ns / 1'000'000'000, now);
  const Validators validators{.etag = etag.view(), .modified_seconds = modified};
  const auto with_fields = [&](Response response) {
    char date[date_bytes];
    response.header("ETag", etag.view());
    response.header("Last-Modified", {date, static_cast<std::size_t>(format_date(modified, date) - date)});
    if (!options_.cache_control.empty()) response.header("Cache-Control", options_.cache_control);
    if (!options_.cross_origin_resource_policy.empty()) {
      response.header("Cross-Origin-Resource-Policy", options_.cross_origin_resource_policy);
    }
    return response;
  };
  const Precondition precondition = evaluate(request.head(), validators, now);
  if (precondition == Precondition::NotModified) co_return with_fields(Response(Status::NotModified));
  if (precondition == Precondition::Failed) {
    co_return refuse(Status::PreconditionFailed, "the file does not meet the preconditions of the request");
  }

  // Range is defined only for GET (RFC 9110 §14.2).
  Content content;
  content.ranges[0] = {0, status.size};
  content.count = status.size == 0 ? 0 : 1;
  bool is_partial = false;
  const auto asked = request.header(Known::Range);
  if (asked && request.method() == Method::Get && range_applies(request.head(), validators, now)) {
    std::array<Range, ranges_max> ranges;
    const RangeRequest parsed = parse_ranges(*asked, status.size, ranges);
    if (parsed.kind == RangeRequest::Kind::Unsatisfiable) {
      co_return refuse(Status::RangeNotSatisfiable, "the file ends before this range")
          .header("Content-Range", Text().add("bytes */").add(status.size).view());
    }
    if (parsed.kind == RangeRequest::Kind::Satisfiable) {
      is_partial = true;
      content.ranges = ranges;
      content.count = parsed.count;
    }
  }
  std::string_view body_type = type;
  Text boundary;
  std::string separated_type;
  if (content.count > 1) {
    boundary.add(Host::current().random(), 16).add(Host::current().random(), 16);
    separate(content, boundary.view(), type, status.size);
    separated_type = "multipart/byteranges; boundary=" + std::string(boundary.view());
    body_type = {};
  }
  content.bytes = content.text.size();
  for (std::size_t i = 0; i < content.count; ++i) content.bytes += content.ranges[i].size;

  const Status outcome = is_partial ? Status::PartialContent : Status::Ok;
  const Text range = is_partial && content.count == 1 ? content_range(content.ranges[0], status.size) : Text();
  Response response(outcome);
  // For HEAD, the content is read as well, because middleware that changes the content must be able to change the
  // fields that describe the content, also for HEAD.
  if (content.bytes <= whole_bytes_max) {
    Buffer body;
    co_await read_content(file, content, body);
    response = Response::body(outcome, std::move(body), body_type);
  } else {
    const std::uint64_t bytes = content.bytes;
    response = Response::stream(outcome, body_type, &send_content, std::move(file), std::move(content)).length(bytes);
  }
  response = with_fields(std::move(response));
  if (!separated_type.empty()) response.header("Content-Type", separated_type);
  if (range.size != 0) response.header("Content-Range", range.view());
  response.header("Accept-Ranges", "bytes").header("X-Content-Type-Options", "nosniff");
  co_return response;
}

}  // namespace keel::http
