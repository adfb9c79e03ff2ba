// The server that protocol suites run against, of this repository and of others, made from the public API.
//
//   server --port P --describe-port Q [--engine auto|uring|epoll] [--data FILE] [--forwarded-by x_forwarded|forwarded]
//     [--certificate FILE]
//
// P:  any method, any path  200 and the body of the request
//     /echo                 the request's header lines
//     /origin               who asked for what, as trusted proxies tell it: lines of client, scheme, authority and id
//     /cookie               the cookies of the request, a line name=value for each
//     /json                 200 when the body is JSON, else 400
//     /static/x             a file of 4,000 bytes; /static/big one of 8 MiB: tags, conditions, ranges
//     /stream               the body of the request, streamed while it comes
//     /upload               the parts of a multipart form as JSON: [{"name","filename","content_type","bytes"}]
//     POST /items {"key":k} 201 once it is committed; GET /items/{k} 200 or 404
//     /reflect?v=…          the decoded v in the response field X-Reflect
//     /metrics /live /ready what an admin listener serves as /metrics, /healthz, /readyz
// Q:  any method, any path  200 and what was understood: {"method","uri","version","body","headers"}, in base64
//
// Port 0 is a port of the system's choice; both are printed. FILE is conformance.db in the working directory, so that
// a server that is started again finds what was committed; the files of /static lie in FILE.static. SIGTERM drains.
// With --forwarded-by, 127.0.0.1 is a proxy that is trusted and writes these fields. With --certificate, which has the
// key as well, both ports speak TLS.
// Not served in this version: /ws; it answers as any path does.

#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keel/app/health.h"
#include "keel/app/signals.h"
#include "keel/data/json.h"
#include "keel/db/sqlite/database.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/body_reader.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/cookie.h"
#include "keel/http/server/multipart.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/server.h"
#include "keel/http/server/static_files.h"
#include "keel/io/runtime.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric_cells.h"
#include "keel/telemetry/log_writer.h"
#include "keel/telemetry/prometheus.h"

using namespace keel;

namespace {

constexpr http::Method every_method[] = {http::Method::Get,     http::Method::Head,   http::Method::Post,
                                         http::Method::Put,     http::Method::Delete, http::Method::Patch,
                                         http::Method::Options, http::Method::Trace};

template <class F>
void route_all(http::Router& router, std::string_view pattern, F handler) {
  for (const http::Method method : every_method) router.add(method, pattern, {.at_once = handler, .later = {}});
}

// --- What any path answers.

Result<http::Response> echo_body(http::Request& request) {
  return http::Response::text(http::Status::Ok, request.body(), "application/octet-stream");
}

Task<> copy_body(http::BodyWriter& out) {
  while (true) {
    const Chunk piece = co_await out.read_body();
    if (piece.empty()) co_return;
    co_await out.write(piece);
  }
}
Task<http::Response> stream_body(http::Request&) {
  co_return http::Response::stream(http::Status::Ok, "application/octet-stream", &copy_body);
}

Result<http::Response> echo_head(http::Request& request) {
  Buffer lines;
  const http::RequestHead& head = request.head();
  for (unsigned i = 0; i < head.field_count(); ++i) {
    lines.append(head.field(i).name);
    lines.append(": ");
    lines.append(head.field(i).value);
    lines.append("\r\n");
  }
  return http::Response::body(http::Status::Ok, std::move(lines), "text/plain; charset=utf-8");
}

Result<http::Response> tell_origin(http::Request& request) {
  Buffer lines;
  const auto line = [&lines](std::string_view name, std::string_view value) {
    lines.append(name);
    lines.append(": ");
    lines.append(value);
    lines.append("\r\n");
  };
  Address client = request.client_address();
  client.set_port(0);
  std::string text = client.to_string();
  line("client", text.substr(0, text.size() - 2));
  line("scheme", request.scheme());
  line("authority", request.authority());
  line("id", request.id());
  return http::Response::body(http::Status::Ok, std::move(lines), "text/plain; charset=utf-8");
}

Result<http::Response> list_cookies(http::Request& request) {
  Buffer lines;
  http::Cookies cookies(request.head());
  while (const auto cookie = cookies.next()) {
    lines.append(cookie->name);
    lines.push_back('=');
    lines.append(cookie->value);
    lines.push_back('\n');
  }
  KEEL_TRY_VOID(cookies.finish());
  return http::Response::body(http::Status::Ok, std::move(lines), "text/plain; charset=utf-8");
}

struct Upload {
  std::span<const http::FormPart> parts;
};
void write_json(json::Writer& out, const Upload& upload) {
  out.begin_array();
  for (const http::FormPart& part : upload.parts) {
    out.begin_object();
    out.key("name").string(part.name);
    if (part.filename) out.key("filename").string(*part.filename);
    out.key("content_type").string(part.content_type);
    out.key("bytes").integer(static_cast<std::int64_t>(part.body.size()));
    out.end_object();
  }
  out.end_array();
}

Result<http::Response> take_upload(http::Request& request) {
  const std::string_view type = request.header(http::Known::ContentType).value_or("");
  if (!http::equals_ignore_case(type.substr(0, 19), "multipart/form-data")) {
    return http::refuse(http::Status::UnsupportedMediaType, "an upload is multipart/form-data");
  }
  KEEL_TRY(const auto parts, http::read_form(request));
  return http::Response::json(http::Status::Ok, Upload{parts});
}

Result<http::Response> check_json(http::Request& request) {
  json::Reader in(request.body(), request.arena());
  in.skip();
  if (!in.finish()) return http::problem(in);
  return http::Response(http::Status::Ok);
}

Result<http::Response> reflect(http::Request& request) {
  KEEL_TRY(const auto value, request.query_param<std::string_view>("v"));
  return http::Response(http::Status::Ok).header("X-Reflect", value.value_or(""));
}

// --- What is kept.

struct Item {
  std::string_view key;
};
void write_json(json::Writer& out, const Item& item) {
  out.begin_object();
  out.key("key").string(item.key);
  out.end_object();
}

class Items {
 public:
  explicit Items(db::Session& session) : session_(session) {}

  Task<http::Response> add(http::Request& request) {
    std::string_view key;
    bool given = false;
    json::Reader in(request.body(), request.arena());
    in.begin_object();
    while (auto name = in.next_key()) {
      if (*name != "key") {
        in.skip();
        continue;
      }
      key = in.string();
      if (given) in.fail("is given twice");
      given = true;
    }
    if (!given) in.fail("is required", "key");
    if (!in.finish()) co_return http::problem(in);
    co_await session_.execute("insert into items (key) values ($1) on conflict do nothing", key);
    co_return http::Response::json(http::Status::Created, Item{key});
  }

  Task<http::Response> find(http::Request& request) {
    const auto key = co_await request.path_param<std::string_view>("key");
    auto ignore = [](const db::Row&) {};
    const std::size_t found = co_await session_.query("select key from items where key = $1", ignore, key);
    if (found == 0) co_return http::refuse(http::Status::NotFound, "no item has this key");
    co_return http::Response::json(http::Status::Ok, Item{key});
  }

 private:
  db::Session& session_;
};

Result<std::unique_ptr<db::sqlite::Database>> open_database(const std::string& path) {
  {
    KEEL_TRY(auto connection, db::sqlite::Connection::open({.path = path}));
    KEEL_TRY_VOID(connection->run_script("create table if not exists items (key text primary key) without rowid;"));
  }
  return db::sqlite::Database::open({.path = path});
}

// --- What lies in files.

std::string letters(std::size_t size) {
  std::string text(size, '\n');
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 64 != 63) text[i] = static_cast<char>('a' + (i / 64 + i) % 26);
  }
  return text;
}

// Made anew at each start, with the time they always had.
Result<> make_files(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error::text(Code::Unavailable, "mkdir " + folder.string() + ": " + error.message());
  for (const auto& [name, size] : {std::pair("x", 4'000), std::pair("big", 8 * 1024 * 1024)}) {
    std::ofstream out(folder / name, std::ios::binary);
    if (!(out << letters(static_cast<std::size_t>(size)) << std::flush)) {
      return Error::text(Code::Unavailable, "cannot write " + (folder / name).string());
    }
    out.close();
    const std::chrono::sys_seconds changed(std::chrono::seconds(784'111'777));
    std::filesystem::last_write_time(folder / name, std::chrono::file_clock::from_sys(changed), error);
  }
  return {};
}

// --- What was understood.

void append_base64(Buffer& out, std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) -> unsigned {
      return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0;
    };
    const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
    out.push_back(digits[three >> 18]);
    out.push_back(digits[three >> 12 & 63]);
    out.push_back(at + 1 < bytes.size() ? digits[three >> 6 & 63] : '=');
    out.push_back(at + 2 < bytes.size() ? digits[three & 63] : '=');
  }
}

Result<http::Response> describe(http::Request& request) {
  const http::RequestHead& head = request.head();
  Buffer body;
  json::Writer out(body);
  Buffer text;
  const auto base64 = [&](std::string_view bytes) {
    text.clear();
    append_base64(text, bytes);
    out.string(text.view());
  };
  out.begin_object();
  out.key("method");
  base64(head.method_text());
  out.key("uri");
  base64(head.target());
  out.key("version");
  base64(head.version_minor() == 0 ? "HTTP/1.0" : "HTTP/1.1");
  out.key("body");
  base64(request.body());
  out.key("headers").begin_array();
  for (unsigned i = 0; i < head.field_count(); ++i) {
    out.begin_array();
    base64(head.field(i).name);
    base64(head.field(i).value);
    out.end_array();
  }
  out.end_array();
  out.end_object();
  return http::Response::body(http::Status::Ok, std::move(body), "application/json");
}

// --- The process.

struct Options {
  std::uint16_t port = 0;
  std::uint16_t describe_port = 0;
  io::EngineKind engine = io::EngineKind::Auto;
  std::string data = "conformance.db";
  std::optional<http::ForwardedBy> forwarded_by = {};
  bool proxy_protocol = false;
  std::string certificate = {};
};

[[noreturn]] void usage() {
  std::fputs(
      "usage: server --port P --describe-port Q [--engine auto|uring|epoll] [--data FILE] "
      "[--forwarded-by x_forwarded|forwarded|x_real_ip] [--proxy-protocol true] [--certificate FILE]\n",
      stderr);
  std::exit(2);
}

std::uint16_t port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) usage();
  return port;
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) usage();
    const std::string_view name = argv[i];
    const std::string_view value = argv[i + 1];
    if (name == "--port") {
      options.port = port_of(value);
    } else if (name == "--describe-port") {
      options.describe_port = port_of(value);
    } else if (name == "--data") {
      options.data = value;
    } else if (name == "--certificate") {
      options.certificate = value;
    } else if (name == "--forwarded-by" && value == "x_forwarded") {
      options.forwarded_by = http::ForwardedBy::XForwarded;
    } else if (name == "--forwarded-by" && value == "forwarded") {
      options.forwarded_by = http::ForwardedBy::Forwarded;
    } else if (name == "--forwarded-by" && value == "x_real_ip") {
      options.forwarded_by = http::ForwardedBy::XRealIp;
    } else if (name == "--proxy-protocol" && value == "true") {
      options.proxy_protocol = true;
    } else if (name == "--engine" && value == "auto") {
      options.engine = io::EngineKind::Auto;
    } else if (name == "--engine" && value == "uring") {
      options.engine = io::EngineKind::Uring;
    } else if (name == "--engine" && value == "epoll") {
      options.engine = io::EngineKind::Epoll;
    } else {
      usage();
    }
  }
  return options;
}

// What attacks are measured against: short times, and room for good clients beside ten thousand bad ones.
http::Limits limits() {
  http::Limits limits;
  limits.body_bytes_max = 1024 * 1024;
  limits.head.head_bytes_max = 64 * 1024;
  limits.header_timeout = 5_s;
  limits.body_timeout = 5_s;
  limits.idle_timeout = 5_s;
  limits.send_timeout = 10_s;
  limits.queue_delay_max = Duration::forever();  // What is asked is answered, also by a machine that is late.
  limits.connections_max = 20'000;
  return limits;
}

void allow_descriptors() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

Result<int> run(const Options& options) {
  app::SignalWaiter signals;
  allow_descriptors();
  std::vector<telemetry::LogSink> sinks;
  sinks.push_back({.to = telemetry::LogSink::To::Stderr, .path = {}, .write = {}, .level = Level::Warn});
  KEEL_TRY(auto logs, telemetry::LogWriter::make({.sinks = std::move(sinks)}));
  metrics::Registry registry;
  telemetry::Prometheus exporter(registry);
  app::Health health;
  KEEL_TRY(auto database, open_database(options.data));
  Items items(*database);
  const std::string folder = options.data + ".static";
  KEEL_TRY_VOID(make_files(folder));
  http::StaticFiles files({.folder = folder});

  http::Router router;
  route_all(router, "/{rest...}", echo_body);
  route_all(router, "/echo", echo_head);
  route_all(router, "/origin", tell_origin);
  route_all(router, "/cookie", list_cookies);
  route_all(router, "/json", check_json);
  route_all(router, "/upload", take_upload);
  route_all(router, "/reflect", reflect);
  router.put("/stream", stream_body, {.streams_body = true});
  files.mount(router, "/static");
  router.post("/items", items, &Items::add).get("/items/{key}", items, &Items::find);
  router.get("/metrics", [&exporter](http::Request& request) {
    Buffer body;
    const auto format = telemetry::Prometheus::format_for(request.header(http::Known::Accept).value_or(""));
    exporter.render(body, format);
    return http::Response::body(http::Status::Ok, std::move(body), telemetry::Prometheus::content_type(format))
        .header("Vary", "Accept");
  });
  const auto ask = [&health](bool (app::Health::*kind)(Buffer&)) {
    Buffer body;
    const bool good = (health.*kind)(body);
    return http::Response::body(good ? http::Status::Ok : http::Status::ServiceUnavailable, std::move(body),
                                "application/json")
        .header("Cache-Control", "no-store");
  };
  router.get("/live", [ask](http::Request&) { return ask(&app::Health::live); });
  router.get("/ready", [ask](http::Request&) { return ask(&app::Health::ready); });
  http::Router describing;
  route_all(describing, "/{rest...}", describe);

  KEEL_TRY(auto runtime, io::Runtime::make({.engine = options.engine}));
  KEEL_TRY_VOID(runtime->start());
  runtime->each([](io::Loop&) {
    thread_local std::optional<log::Ring> ring;
    thread_local std::optional<metrics::ThreadCells> cells;
    ring.emplace();
    cells.emplace();
  });
  Result<> attached;
  runtime->each([&](io::Loop& loop) {
    if (auto one = database->attach(loop); !one) attached = std::move(one);
  });
  KEEL_TRY_VOID(std::move(attached));

  // Loopback only: this server rejects nobody.
  KEEL_TRY(const Address address, Address::ip("127.0.0.1", options.port));
  KEEL_TRY(const Address describe_address, Address::ip("127.0.0.1", options.describe_port));
  http::ServerOptions serving;
  serving.address = address;
  serving.limits = limits();
  if (options.forwarded_by) {
    serving.trusted_proxies.push_back(Network::parse("127.0.0.1").value());
    serving.forwarded_by = *options.forwarded_by;
    serving.proxy_protocol = options.proxy_protocol;
  }
  serving.access_log = false;
  serving.metrics = &registry;
  std::optional<tls::Layers> layers;
  if (!options.certificate.empty()) {
    const tls::ServerOptions secure = {.certificates = {{.certificate_file = options.certificate}}};
    KEEL_TRY(auto context, tls::ServerContext::make(secure));
    serving.https = &layers.emplace(std::move(context));
  }
  http::Server server(router, serving);
  serving.address = describe_address;
  serving.name = "describe";
  http::Server describer(describing, serving);
  KEEL_TRY_VOID(server.start(*runtime));
  KEEL_TRY_VOID(describer.start(*runtime));
  health.start_complete();
  std::printf("listening on port %d, describing on port %d, engine %s\n", server.address().port(),
              describer.address().port(), runtime->engine().kind == io::EngineKind::Uring ? "uring" : "epoll");
  std::fflush(stdout);

  while (signals.wait() == app::Signal::Reload) {
  }
  signals.end_on_next();
  health.drain("draining");
  describer.begin_drain();
  const bool all = server.drain(10_s) && describer.drain(10_s);
  database->close();
  runtime->stop();
  return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto code = run(options_of(argc, argv));
  if (code) return *code;
  std::fprintf(stderr, "server: %s\n", code.error().describe().c_str());
  return 1;
}
