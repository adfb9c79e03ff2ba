// What docs_page_test.py looks at: the documents of DOCUMENTS ("petstore=a.yaml petstore2=b.json"), each with its page
// below its name, and operations that response with what they were asked.
//
//   GET /petstore/docs, /petstore/openapi.json
//   *   /petstore/…                            {"method": …, "target": …, "fields": {…}, "body": …}
//   GET /museum/tickets/{id}/qr                a picture

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>
#include <string_view>

#include "gen/bundle.h"
#include "keel/app/app.h"
#include "keel/contract/docs_page.h"
#include "keel/data/json_writer.h"
#include "openapi/document.h"

using namespace keel;

namespace {

constexpr std::string_view picture(
    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\10\6\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9c"
    "c\xf8\xcf\xc0\xf0\x1f\0\5\0\1\xff\x89\x99=\x1d\0\0\0\0IEND\xae"
    "B`\x82",
    70);

http::Response echo(http::Request& request) {
  Buffer text;
  json::Writer out(text);
  out.begin_object();
  out.key("method").string(request.head().method_text());
  out.key("target").string(request.head().target());
  out.key("fields").begin_object();
  for (unsigned i = 0; i < request.head().field_count(); ++i) {
    out.key(request.head().field(i).name).string(request.head().field(i).value);
  }
  out.end_object();
  out.key("body").string(request.body());
  out.end_object();
  return http::Response::body(http::Status::Ok, std::move(text), "application/json");
}

http::Response show(http::Request&) {
  Buffer bytes;
  bytes.append(picture);
  return http::Response::body(http::Status::Ok, std::move(bytes), "image/png");
}

class Documents {
 public:
  explicit Documents(app::App& app) {
    const char* const named = std::getenv("DOCUMENTS");
    std::string_view all = named == nullptr ? "" : named;
    while (!all.empty()) {
      const std::string_view one = all.substr(0, all.find(' '));
      all.remove_prefix(std::min(all.size(), one.size() + 1));
      const std::size_t equals = one.find('=');
      add('/' + std::string(one.substr(0, equals)), std::string(one.substr(equals + 1)));
    }
    app.serve(router_);
  }

 private:
  struct Texts {
    std::string json;
    std::string gzip;
  };

  void add(const std::string& prefix, const std::string& path) {
    openapi::Problems problems;
    const auto document = openapi::Document::load(path, openapi::read_regular_file, problems);
    if (document == nullptr) {
      std::fprintf(stderr, "%s cannot be read\n", path.c_str());
      std::exit(1);
    }
    const std::string json = gen::bundle(*document, problems);
    const Texts& texts = texts_.emplace_back(Texts{.json = json, .gzip = gen::gzip(json)});
    http::Group group = router_.group(prefix);
    contract::mount_documentation(group, {.json = texts.json, .gzip = texts.gzip});
    group.get("/tickets/{id}/qr", show);
    group.get("/{path...}", echo).post("/{path...}", echo).put("/{path...}", echo).patch("/{path...}", echo);
    group.del("/{path...}", echo);
  }

  std::list<Texts> texts_;  // The router has views of them.
  http::Router router_;
};

}  // namespace

int main(int argc, char** argv) { return app::run<Documents>("docs_page_service", argc, argv); }
