// The parsers of Boost.Beast and of Node.js before llhttp (http_parser), given the same work as ours: where the target
// and each field are. Each is used in its fastest way: views are kept, nothing is copied.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "keel/http/message/internal/parser_bench.h"

#ifdef KEEL_BENCH_BEAST
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#endif
#ifdef KEEL_BENCH_HTTP_PARSER
#include <http_parser.h>
#endif

namespace keel::http {
namespace {

using namespace internal;

void check(std::string_view bytes, const Found& found) {
  check_found(bytes, found.target, found.count, found.fields[found.count - 1].value);
}

#ifdef KEEL_BENCH_BEAST

namespace beast = boost::beast;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

class BeastParser final : public beast::http::basic_parser<true> {
 public:
  explicit BeastParser(Found& found) : found_(found) { found_.count = 0; }

 private:
  using Error = beast::error_code;
  using Text = beast::string_view;
  void on_request_impl(beast::http::verb, Text, Text target, int, Error&) override { found_.target = view(target); }
  void on_response_impl(int, Text, int, Error&) override {}
  void on_field_impl(beast::http::field, Text name, Text value, Error&) override {
    found_.fields[found_.count++] = {view(name), view(value)};
  }
  void on_header_impl(Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(Text, Error&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, Text, Error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text, Error&) override { return 0; }
  void on_finish_impl(Error&) override {}
  Found& found_;
};

void beast_parse(benchmark::State& state, std::string_view bytes) {
  static Found found;
  for (auto _ : state) {
    BeastParser parser(found);
    beast::error_code error;
    benchmark::DoNotOptimize(parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error));
    if (error || !parser.is_header_done()) std::abort();
    benchmark::ClobberMemory();
  }
  check(bytes, found);
}
BENCHMARK_CAPTURE(beast_parse, plaintext, plaintext);
BENCHMARK_CAPTURE(beast_parse, request_350, request_350);
BENCHMARK_CAPTURE(beast_parse, browser, browser);

void beast_fragments(benchmark::State& state, std::string_view bytes) {
  static Found found;
  for (auto _ : state) {
    BeastParser parser(found);
    beast::error_code error;
    std::size_t used = 0;
    std::size_t size = 0;
    while (!parser.is_header_done()) {
      size = std::min(size + fragment_bytes, bytes.size());
      used += parser.put(boost::asio::buffer(bytes.data() + used, size - used), error);
      if (error && error != beast::http::error::need_more) std::abort();
    }
    benchmark::ClobberMemory();
  }
  check(bytes, found);
}
BENCHMARK_CAPTURE(beast_fragments, request_350, request_350);
BENCHMARK_CAPTURE(beast_fragments, browser, browser);

// As it is mostly used: with its own container of fields.
void beast_message(benchmark::State& state, std::string_view bytes) {
  for (auto _ : state) {
    beast::http::request_parser<beast::http::empty_body> parser;
    beast::error_code error;
    benchmark::DoNotOptimize(parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error));
    if (error || !parser.is_header_done()) std::abort();
    benchmark::ClobberMemory();
  }
}
BENCHMARK_CAPTURE(beast_message, request_350, request_350);

#endif
#ifdef KEEL_BENCH_HTTP_PARSER

Found& found_of(http_parser* parser) { return *static_cast<Found*>(parser->data); }

// A piece is the first of its text, or continues where the one before ended.
void join(std::string_view& text, const char* at, std::size_t size) {
  text = text.data() != nullptr && text.data() + text.size() == at ? std::string_view(text.data(), text.size() + size)
                                                                   : std::string_view(at, size);
}

http_parser_settings settings() {
  http_parser_settings made;
  http_parser_settings_init(&made);
  made.on_url = [](http_parser* parser, const char* at, std::size_t size) {
    join(found_of(parser).target, at, size);
    return 0;
  };
  made.on_header_field = [](http_parser* parser, const char* at, std::size_t size) {
    Found& found = found_of(parser);
    const bool goes_on = found.count != 0 && found.fields[found.count - 1].value.data() == nullptr;
    if (!goes_on) found.fields[found.count++] = {};
    join(found.fields[found.count - 1].name, at, size);
    return 0;
  };
  made.on_header_value = [](http_parser* parser, const char* at, std::size_t size) {
    join(found_of(parser).fields[found_of(parser).count - 1].value, at, size);
    return 0;
  };
  made.on_headers_complete = [](http_parser*) { return 1; };  // No body.
  return made;
}

void http_parser_pieces(benchmark::State& state, std::string_view bytes, std::size_t piece) {
  static Found found;
  const http_parser_settings callbacks = settings();
  for (auto _ : state) {
    http_parser parser;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = &found;
    found.target = {};
    found.count = 0;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const std::size_t size = std::min(piece, bytes.size() - at);
      if (http_parser_execute(&parser, &callbacks, bytes.data() + at, size) != size) std::abort();
    }
    benchmark::ClobberMemory();
  }
  check(bytes, found);
}
void http_parser_parse(benchmark::State& state, std::string_view bytes) {
  http_parser_pieces(state, bytes, bytes.size());
}
void http_parser_fragments(benchmark::State& state, std::string_view bytes) {
  http_parser_pieces(state, bytes, fragment_bytes);
}
BENCHMARK_CAPTURE(http_parser_parse, plaintext, plaintext);
BENCHMARK_CAPTURE(http_parser_parse, request_350, request_350);
BENCHMARK_CAPTURE(http_parser_parse, browser, browser);
BENCHMARK_CAPTURE(http_parser_fragments, request_350, request_350);
BENCHMARK_CAPTURE(http_parser_fragments, browser, browser);

#endif

}  // namespace
}  // namespace keel::http
