#include "keel/http/message/parser.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::parser_test {
namespace {

using namespace std::string_view_literals;
using namespace std::string_literals;

// The invariants of parser_fuzz.cc: cut at every byte, resumed at every byte, views inside, and more.
void cut_everywhere(std::string_view bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

HeadResult parse(std::string_view bytes, RequestHead& head, const HeadLimits& limits = {}) {
  cut_everywhere(bytes);
  return parse_head(bytes, limits, head);
}

// What the head says, in one line: "GET /path?query host body keep".
std::string told(const RequestHead& head) {
  std::string text(head.method_text());
  text += " " + std::string(head.path());
  if (head.has_query()) text += "?" + std::string(head.query());
  text += " " + std::string(head.authority());
  if (head.body() == BodyKind::Length) text += " length=" + std::to_string(head.content_length());
  if (head.body() == BodyKind::Chunked) text += " chunked";
  if (head.expect_continue()) text += " expect";
  text += head.keep_alive() ? " keep" : " close";
  return text;
}

struct Accepted {
  std::string_view bytes;
  std::string_view told;
};

constexpr Accepted accepted[] = {
    // Request lines.
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / a keep"},
    {"GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "GET /plaintext 127.0.0.1:8080 keep"},
    {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / a keep"},
    {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD / a keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", "POST / a length=5 keep"},
    {"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "PUT /x a keep"},
    {"DELETE /x/1 HTTP/1.1\r\nHost: a\r\n\r\n", "DELETE /x/1 a keep"},
    {"PATCH /x HTTP/1.1\r\nHost: a\r\n\r\n", "PATCH /x a keep"},
    {"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", "TRACE / a keep"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * a keep"},
    {"OPTIONS /x HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS /x a keep"},
    {"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "CONNECT  example.com:443 keep"},
    {"CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]\r\n\r\n", "CONNECT  [::1]:443 keep"},
    {"PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n", "PROPFIND / a keep"},
    {"M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", "M-SEARCH / a keep"},
    {"get / HTTP/1.1\r\nHost: a\r\n\r\n", "get / a keep"},
    {"G!#$%&'*+-.^_`|~9 / HTTP/1.1\r\nHost: a\r\n\r\n", "G!#$%&'*+-.^_`|~9 / a keep"},
    // Targets.
    {"GET /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a?b=c a keep"},
    {"GET /? HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? a keep"},
    {"GET /a?b?c/d%zz%00 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a?b?c/d%zz%00 a keep"},
    {"GET /%41%2f%7e HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%41%2f%7e a keep"},
    {"GET /a//b/../c/. HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a//b/../c/. a keep"},
    {"GET /a;b=c,d:e@f!$&'()*+=~-._ HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a;b=c,d:e@f!$&'()*+=~-._ a keep"},
    {"GET /a[b]?c[d]=!~$= HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a[b]?c[d]=!~$= a keep"},
    {"GET /~!$=~~~~~~~~~~~~~~~~~~~~~~~?!~ HTTP/1.1\r\nHost: a\r\n\r\n", "GET /~!$=~~~~~~~~~~~~~~~~~~~~~~~?!~ a keep"},
    // RFC 9110 §2.5: as the highest minor version that is known.
    {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.9\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / a close"},
    {"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?q HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?q a keep"},
    {"GET http://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n", "GET /b?c a keep"},
    {"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", "GET / a keep"},
    {"GET http://a?c HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?c a keep"},
    {"GET HTTP://Example.COM:80/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "GET / Example.COM:80 keep"},
    {"GET https://a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET / a:443 keep"},
    {"GET http://[::1]:8080/ HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "GET / [::1]:8080 keep"},
    {"GET http://a/ HTTP/1.0\r\n\r\n", "GET / a close"},
    // Hosts.
    {"GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", "GET / localhost:8080 keep"},
    {"GET / HTTP/1.1\r\nHost: 192.168.1.1\r\n\r\n", "GET / 192.168.1.1 keep"},
    {"GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n", "GET / [2001:db8::1] keep"},
    {"GET / HTTP/1.1\r\nHost: [::ffff:1.2.3.4]:65535\r\n\r\n", "GET / [::ffff:1.2.3.4]:65535 keep"},
    {"GET / HTTP/1.1\r\nHost: a:\r\n\r\n", "GET / a: keep"},
    {"GET / HTTP/1.1\r\nHost: xn--bcher-kva.example\r\n\r\n", "GET / xn--bcher-kva.example keep"},
    {"GET / HTTP/1.1\r\nHost: my_service.local.\r\n\r\n", "GET / my_service.local. keep"},
    {"GET / HTTP/1.1\r\nhost:a\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHOST: \t a \t \r\n\r\n", "GET / a keep"},
    // Fields.
    {"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \t \r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: a\tb  c\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: caf\xc3\xa9 \xff\x80\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nx_y: 1\r\nX-1!#$%&'*+.^`|~: 2\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nX: 1\r\nX: 2\r\nHost: a\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: :\"()<>@,;\\/[]?={}\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encodin: x\r\nContent-Lengthy: y\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nContent-Lengt_: y\r\n\r\n", "GET / a keep"},
    // Connections.
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / a close"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, CLOSE\r\n\r\n", "GET / a close"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: ,,\r\nConnection: close\r\n\r\n", "GET / a close"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", "GET / a keep"},
    {"GET / HTTP/1.0\r\n\r\n", "GET /  close"},
    {"GET / HTTP/1.0\r\nHost: a\r\n\r\n", "GET / a close"},
    {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET /  keep"},
    {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET /  close"},
    // Bodies.
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "POST / a chunked keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding:Chunked\r\n\r\n", "POST / a chunked keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:   chunked  \r\n\r\n", "POST / a chunked keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n",
     "POST / a length=18446744073709551615 keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0000000000000000000000007\r\n\r\n", "POST / a length=7 keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:  12 \r\n\r\n", "POST / a length=12 keep"},
    {"POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "POST /  length=3 close"},
    {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "GET / a length=3 keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n",
     "POST / a length=3 expect keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
     "POST / a chunked expect keep"},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", "POST / a keep"},
    // RFC 9110 §10.1.1: in HTTP/1.0 the expectation is ignored.
    {"POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", "POST /  length=3 close"},
};

struct Refused {
  std::string_view bytes;
  int status;
  std::string_view reason;
};

constexpr Refused refused[] = {
    // Two ways to frame one message (RFC 9112 §6.3).
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
     "Content-Length beside Transfer-Encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400,
     "Content-Length beside Transfer-Encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400,
     "Content-Length beside Transfer-Encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n", 400,
     "Content-Length beside Transfer-Encoding"},
    // Transfer codings.
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501, "transfer coding is not chunked"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501, "transfer coding is not chunked"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "transfer coding is not chunked"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 400,
     "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked x\r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chun\xc3\xa9\r\n\r\n", 400, "Transfer-Encoding is malformed"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tchunked\r\n\r\n", 400, "tab in Transfer-Encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\t\r\n\r\n", 400, "tab in Transfer-Encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0b"
     "chunked\r\n\r\n",
     400, "control byte in a field value"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
     "more than one Transfer-Encoding"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
     "more than one Transfer-Encoding"},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "Transfer-Encoding in HTTP/1.0"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\r\n", 400,
     "framing field spelled with an underscore"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent_Length: 5\r\n\r\n", 400, "framing field spelled with an underscore"},
    // Lengths.
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400,
     "more than one Content-Length"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400,
     "more than one Content-Length"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", 400, "Content-Length is not a number"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\n", 400, "Content-Length is not a number"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", 400, "Content-Length is not a number"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", 400, "Content-Length is not a number"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", 400, "Content-Length is not a number"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\n", 400, "Content-Length is not a number"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n", 400, "Content-Length is not a number"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400, "Content-Length is empty"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:  \t\r\n\r\n", 400, "Content-Length is empty"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n", 400, "Content-Length is too large"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400,
     "Content-Length is too large"},
    // Field lines (RFC 9112 §5).
    {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, "blank in a field name or before its colon"},
    {"GET / HTTP/1.1\r\nHost\t: a\r\n\r\n", 400, "blank in a field name or before its colon"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", 400, "blank in a field name or before its colon"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400, "field line has no colon"},
    {"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400, "field has no name"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX(Y): b\r\n\r\n", 400, "byte that is not allowed in a field name"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\xc3\xa9: b\r\n\r\n", 400, "byte that is not allowed in a field name"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\0Y: b\r\n\r\n"sv, 400, "byte that is not allowed in a field name"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\"Y: b\r\n\r\n", 400, "byte that is not allowed in a field name"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX/Y: b\r\n\r\n", 400, "byte that is not allowed in a field name"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400, "folded field line"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", 400, "folded field line"},
    {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, "folded field line"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", 400, "folded field line"},
    // Line ends and control bytes.
    {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400, "LF without CR"},
    {"GET / HTTP/1.1\r\nHost: a\r\n\n", 400, "LF without CR"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\nY: c\r\n\r\n", 400, "LF without CR"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\n: c\r\n\r\n", 400, "LF without CR"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n", 400, "CR without LF"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\r\n\r\n", 400, "CR without LF"},
    {"GET / HTTP/1.1\r\nHost: a\r\n\rX", 400, "CR without LF"},
    {"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n"sv, 400, "control byte in a field value"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\x01\r\n\r\n", 400, "control byte in a field value"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", 400, "control byte in a field value"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \x1b[31m\r\n\r\n", 400, "control byte in a field value"},
    {"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "method is not a token"},
    {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "method is not a token"},
    {"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "CR without LF"},
    // Methods.
    {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "method is not a token"},
    {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "method is not a token"},
    {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "method is not a token"},
    {"GET\r\n\r\n", 400, "method is not a token"},
    {"\x16\x03\x01\x02\x00\x01"sv, 400, "method is not a token"},
    {"GET\0 / HTTP/1.1\r\n"sv, 400, "method is not a token"},
    {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\nHost: a\r\n\r\n", 501, "method is too long"},
    // Targets.
    {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request target is empty"},
    {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", 400, "byte that is not allowed in the request target"},
    {"GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"sv, 400, "byte that is not allowed in the request target"},
    {"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", 400, "byte that is not allowed in the request target"},
    {"GET /caf\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "byte that is not allowed in the request target"},
    {"GET /?\x80 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "byte that is not allowed in the request target"},
    {"GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request target contains a fragment"},
    {"GET /?q#a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the request target contains a fragment"},
    {"GET /% HTTP/1.1\r\nHost: a\r\n\r\n", 400, "percent-escape in the path without two hexadecimal digits"},
    {"GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "percent-escape in the path without two hexadecimal digits"},
    {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, "percent-escape in the path without two hexadecimal digits"},
    {"GET /%\n", 400, "percent-escape in the path without two hexadecimal digits"},
    {"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "%00 in the path"},
    {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request target has none of the four forms"},
    {"GET ?a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request target has none of the four forms"},
    {"GET a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 400, "request target has none of the four forms"},
    {"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request target has none of the four forms"},
    {"GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request target has none of the four forms"},
    {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "authority of the request target is malformed"},
    {"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "authority of the request target is malformed"},
    {"GET http://a:b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "authority of the request target is malformed"},
    {"GET http://a,b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "authority of the request target is malformed"},
    {"GET http://%61/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "authority of the request target is malformed"},
    {"GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", 400, "request target and Host differ"},
    {"GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request target and Host differ"},
    {"GET https://a/ HTTP/1.1\r\nHost: a:80\r\n\r\n", 400, "request target and Host differ"},
    {"GET http://a/ HTTP/1.1\r\n\r\n", 400, "HTTP/1.1 without Host"},
    {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400, "the target * is allowed only with OPTIONS"},
    {"OPTIONS *? HTTP/1.1\r\nHost: a\r\n\r\n", 400, "request target has none of the four forms"},
    {"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", 400, "CONNECT wants host:port"},
    {"CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", 400, "CONNECT wants host:port"},
    {"CONNECT a: HTTP/1.1\r\nHost: a\r\n\r\n", 400, "CONNECT wants host:port"},
    {"CONNECT http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "CONNECT wants host:port"},
    // Versions.
    {"GET /\r\n\r\n", 400, "request line has no version"},
    {"GET / \r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / http/1.1\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/1\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/01.1\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/1,1\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTPS/1.1\r\nHost: a\r\n\r\n", 400, "HTTP version is malformed"},
    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, "HTTP version is not 1.0 or 1.1"},
    {"GET / HTTP/1.2\r\n\r\n", 400, "HTTP/1.1 without Host"},
    {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505, "HTTP version is not 1.0 or 1.1"},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP version is not 1.0 or 1.1"},
    // Hosts.
    {"GET / HTTP/1.1\r\n\r\n", 400, "HTTP/1.1 without Host"},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, "more than one Host"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: a/b\r\nX: y\r\ncontent-type: a/b\r\n\r\n", 400,
     "more than one Content-Type"},
    {"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YQ==\r\nAuthorization: Bearer b\r\n\r\n", 400,
     "more than one Authorization"},
    {"GET / HTTP/1.1\r\nHost: a\r\nOrigin: null\r\nOrigin: https://a\r\n\r\n", 400, "more than one Origin"},
    {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400, "more than one Host"},
    {"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400, "more than one Host"},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: http://a\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: u:p@a\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a\tb\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a?b\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a#b\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: %61\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: caf\xc3\xa9\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a:000080\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: a:-1\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: [::1]a\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: [:::1]\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: []\r\n\r\n", 400, "Host is malformed"},
    {"GET / HTTP/1.1\r\nHost: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\r\n\r\n", 400,
     "Host is malformed"},
    // Expectations.
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417, "expectation is not 100-continue"},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect:\r\n\r\n", 417, "expectation is not 100-continue"},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, x\r\n\r\n", 417, "expectation is not 100-continue"},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: x\r\n\r\n", 417, "expectation is not 100-continue"},
};

TEST(Parser, accepts_every_valid_form) {
  static_assert(std::size(accepted) >= 60);
  for (const Accepted& vector : accepted) {
    RequestHead head;

    const HeadResult result = parse(vector.bytes, head);

    ASSERT_EQ(result.state, HeadState::Complete) << vector.bytes << result.reason;
    EXPECT_EQ(told(head), vector.told) << vector.bytes;
    EXPECT_EQ(result.consumed, vector.bytes.find("\r\n\r\n") + 4) << vector.bytes;
  }
}

// RFC 3986 §3.3, §3.4, but for brackets, which browsers send in queries.
TEST(Parser, refuses_every_byte_that_may_not_stand_in_a_target) {
  const std::string may_stand = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/?%[]";
  for (const std::string_view front :
       {"/", "/a/path/that/is/longer/than/a/vector/", "/?", "/a/path?and=a&query=behind"}) {
    for (int byte = 0; byte < 256; ++byte) {
      const auto c = static_cast<char>(byte);
      if (c == ' ' || c == '%') continue;
      const std::string line = "GET " + std::string(front) + c + "tail HTTP/1.1\r\nHost: a\r\n\r\n";
      RequestHead head;

      const HeadResult result = parse(line, head);

      const bool is_accepted = may_stand.find(c) != std::string::npos;
      EXPECT_EQ(result.state, is_accepted ? HeadState::Complete : HeadState::Refused) << front << byte;
      EXPECT_EQ(result.status, is_accepted ? Status::Ok : Status::BadRequest) << front << byte;
    }
  }
}

TEST(Parser, refuses_what_two_readers_could_understand_differently) {
  for (const Refused& vector : refused) {
    RequestHead head;

    const HeadResult result = parse(vector.bytes, head);

    EXPECT_EQ(result.state, HeadState::Refused) << vector.bytes;
    EXPECT_EQ(number(result.status), vector.status) << vector.bytes;
    EXPECT_EQ(result.reason, vector.reason) << vector.bytes;
  }
}

TEST(Parser, refuses_each_control_byte_in_a_value_and_each_bad_byte_in_a_name_and_a_target) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    RequestHead head;
    const std::string value = "GET / HTTP/1.1\r\nHost: a\r\nX: b"s + c + "d\r\n\r\n";
    const std::string name = "GET / HTTP/1.1\r\nHost: a\r\nX"s + c + "Y: b\r\n\r\n";
    const std::string target = "GET /x"s + c + "y HTTP/1.1\r\nHost: a\r\n\r\n";

    const bool may_stand_in_value = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
    EXPECT_EQ(parse(value, head).state == HeadState::Complete, may_stand_in_value) << byte;
    EXPECT_EQ(parse(name, head).state == HeadState::Complete, is_token_byte(c) || c == ':') << byte;
    const bool may_stand_in_target =
        byte > 0x20 && byte < 0x7f && c != '%' && std::string_view("\"#<>\\^`{|}").find(c) == std::string_view::npos;
    EXPECT_EQ(parse(target, head).state == HeadState::Complete, may_stand_in_target) << byte;
  }
}

TEST(Parser, leaves_what_follows_the_head) {
  const std::string_view one = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n";
  const std::string both = std::string(one) + "xyGET /b HTTP/1.1\r\nHost: b\r\n\r\n";
  RequestHead head;

  EXPECT_EQ(parse(both, head).consumed, one.size());
  EXPECT_EQ(parse(std::string_view(both).substr(one.size() + 2), head).state, HeadState::Complete);
  EXPECT_EQ(head.path(), "/b");
}

TEST(Parser, finds_fields_by_index_and_by_name) {
  RequestHead head;
  parse("GET / HTTP/1.1\r\nHost: a\r\nACCEPT: text/html\r\naccept: */*\r\nX-Id: 7\r\nCookie:\r\n\r\n", head);

  ASSERT_EQ(head.field_count(), 5u);
  EXPECT_EQ(head.field(1).name, "ACCEPT");
  EXPECT_EQ(head.find(Known::Accept), "text/html");
  EXPECT_EQ(head.find("accept"), "text/html");
  EXPECT_EQ(head.find("x-ID"), "7");
  EXPECT_EQ(head.find("x_id"), std::nullopt);
  EXPECT_EQ(head.find(Known::Cookie), "");
  EXPECT_EQ(head.find(Known::Origin), std::nullopt);
}

TEST(Parser, indexes_every_known_field) {
  RequestHead head;
  const HeadResult result = parse(
      "GET / HTTP/1.1\r\nHost: host\r\nConnection: connection\r\nContent-Length: 1\r\nExpect: 100-continue\r\n"
      "Content-Type: type\r\nAccept: accept\r\nAccept-Encoding: encoding\r\nAuthorization: authorization\r\n"
      "Cookie: cookie\r\nIf-Modified-Since: since\r\nIf-None-Match: match\r\nOrigin: origin\r\nRange: range\r\n"
      "Upgrade: upgrade\r\nUser-Agent: agent\r\n\r\n",
      head);

  ASSERT_EQ(result.state, HeadState::Complete) << result.reason;
  for (unsigned i = 0; i < known_count; ++i) {
    EXPECT_EQ(head.has(static_cast<Known>(i)), static_cast<Known>(i) != Known::TransferEncoding) << i;
  }
  EXPECT_EQ(head.find(Known::UserAgent), "agent");
  EXPECT_EQ(head.find(Known::IfModifiedSince), "since");
}

// Most hosts are read in one step, and others, as one with a blank behind it, as every value first.
TEST(Parser, takes_the_same_hosts_and_ports_whatever_stands_behind_them) {
  const auto state = [](const std::string& host, std::string_view behind) {
    RequestHead head;
    const std::string request = "GET / HTTP/1.1\r\nHost: " + host + std::string(behind) + "\r\nAccept: */*\r\n\r\n";
    const HeadResult result = parse_head(request, HeadLimits(), head);
    if (result.state == HeadState::Complete) {
      EXPECT_EQ(head.authority(), host);
      EXPECT_EQ(head.host(), host.substr(0, host.find(':')));
      EXPECT_EQ(head.find(Known::Host), host);
    }
    return result.state;
  };
  for (const int port : {0, 9, 80, 8080, 9999, 10'000, 65'535, 65'536, 99'999}) {
    const HeadState wanted = port <= 65'535 ? HeadState::Complete : HeadState::Refused;
    EXPECT_EQ(state("a.example:" + std::to_string(port), ""), wanted) << port;
    EXPECT_EQ(state("a.example:" + std::to_string(port), " "), wanted) << port;
  }
  for (const char* host : {"a:", "a", "a-b.c", "a_b", "a:00080", "a:1", "xn--a.b:0"}) {
    EXPECT_EQ(state(host, ""), HeadState::Complete) << host;
    EXPECT_EQ(state(host, "\t"), HeadState::Complete) << host;
  }
  for (const char* host :
       {"", ":1", "a:8x", "a:x", "a:-1", "a:000080", "a:123456789", "a b", "a/b", "a,b", "a@b", "a:1:2"}) {
    EXPECT_EQ(state(host, ""), HeadState::Refused) << host;
    EXPECT_EQ(state(host, " "), HeadState::Refused) << host;
  }
}

TEST(Parser, lets_a_host_say_its_name_without_the_port) {
  RequestHead head;

  parse("GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", head);
  EXPECT_EQ(head.host(), "example.com");
  parse("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", head);
  EXPECT_EQ(head.host(), "[::1]");
}

TEST(Parser, takes_every_port_there_is_and_no_other) {
  const auto takes = [](const std::string& port) {
    RequestHead head;
    return parse("GET / HTTP/1.1\r\nHost: a:" + port + "\r\n\r\n", head).state == HeadState::Complete;
  };
  for (int number = 0; number <= 99'999; ++number) ASSERT_EQ(takes(std::to_string(number)), number <= 65'535) << number;
  EXPECT_TRUE(takes("") && takes("00080"));
  EXPECT_FALSE(takes("000080"));
  for (std::size_t at = 0; at < 5; ++at) {
    for (int c = 0x21; c < 0x100; ++c) {
      std::string port = "12345";
      port[at] = static_cast<char>(c);
      ASSERT_EQ(takes(port), c >= '0' && c <= (at == 0 ? '6' : '9')) << port;
    }
  }
}

TEST(Parser, follows_bytes_that_move) {
  std::string bytes = "GET /a?b HTTP/1.1\r\nHost: example.com\r\n\r\n";
  RequestHead head;
  parse_head(bytes, {}, head);
  const std::string moved = bytes;
  bytes.assign(bytes.size(), '#');

  RequestHead copy = head;
  copy.rebase(moved.data());

  EXPECT_EQ(told(copy), "GET /a?b example.com keep");
  EXPECT_EQ(copy.find("host"), "example.com");
}

TEST(Parser, goes_on_with_bytes_that_moved_while_it_waited) {
  const std::string bytes = "POST /a HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
  RequestHead head;
  HeadResult result;
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    const std::vector<char> received(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string_view view(received.data(), received.size());
    result = size == 1 ? parse_head(view, {}, head) : resume_head(view, {}, head);
    if (size < bytes.size()) {
      ASSERT_EQ(result.state, HeadState::Incomplete) << size;
    }
  }

  ASSERT_EQ(result.state, HeadState::Complete);
  head.rebase(bytes.data());
  EXPECT_EQ(told(head), "POST /a example.com length=4 close");
}

TEST(Parser, does_not_remember_the_request_before) {
  RequestHead head;
  parse("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", head);

  ASSERT_EQ(parse("GET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n", head).state, HeadState::Complete);
  EXPECT_EQ(told(head), "GET / b keep");
  ASSERT_EQ(parse("GET /c HTTP/1.0\r\n\r\n", head).state, HeadState::Complete);
  EXPECT_EQ(told(head), "GET /c  close");
  EXPECT_FALSE(head.has(Known::ContentLength));
}

TEST(Parser, bounds_the_request_line) {
  const HeadLimits limits{.request_line_bytes_max = 32};
  const std::string fits = "GET /" + std::string(32 - 16, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string longer = "GET /" + std::string(33 - 16, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  RequestHead head;

  EXPECT_EQ(parse(fits, head, limits).state, HeadState::Complete);
  EXPECT_EQ(parse(longer, head, limits).status, Status::UriTooLong);
  EXPECT_EQ(parse(longer.substr(0, 32), head, limits).status, Status::UriTooLong);
  EXPECT_EQ(parse(longer.substr(0, 31), head, limits).state, HeadState::Incomplete);
}

TEST(Parser, bounds_a_field_line) {
  const HeadLimits limits{.field_line_bytes_max = 32};
  const std::string_view start = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string fits = std::string(start) + "X: " + std::string(32 - 5, 'a') + "\r\n\r\n";
  const std::string longer = std::string(start) + "X: " + std::string(33 - 5, 'a') + "\r\n\r\n";
  const std::string name = std::string(start) + std::string(40, 'a');
  RequestHead head;

  EXPECT_EQ(parse(fits, head, limits).state, HeadState::Complete);
  EXPECT_EQ(parse(longer, head, limits).status, Status::RequestHeaderFieldsTooLarge);
  EXPECT_EQ(parse(longer.substr(0, start.size() + 32), head, limits).status, Status::RequestHeaderFieldsTooLarge);
  EXPECT_EQ(parse(longer.substr(0, start.size() + 31), head, limits).state, HeadState::Incomplete);
  EXPECT_EQ(parse(name, head, limits).status, Status::RequestHeaderFieldsTooLarge);
}

TEST(Parser, bounds_the_whole_head) {
  const std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n";
  RequestHead head;

  EXPECT_EQ(parse(bytes, head, {.head_bytes_max = static_cast<std::uint32_t>(bytes.size())}).state,
            HeadState::Complete);
  const HeadLimits less{.head_bytes_max = static_cast<std::uint32_t>(bytes.size() - 1)};
  EXPECT_EQ(parse(bytes, head, less).status, Status::RequestHeaderFieldsTooLarge);
  EXPECT_EQ(parse(std::string_view(bytes).substr(0, bytes.size() - 1), head, less).status,
            Status::RequestHeaderFieldsTooLarge);
  EXPECT_EQ(parse(std::string_view(bytes).substr(0, bytes.size() - 2), head, less).state, HeadState::Incomplete);
}

TEST(Parser, bounds_the_number_of_fields) {
  std::string bytes = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 1; i < 100; ++i) bytes += "X: b\r\n";
  RequestHead head;

  EXPECT_EQ(parse(bytes + "\r\n", head).state, HeadState::Complete);
  EXPECT_EQ(head.field_count(), 100u);
  EXPECT_EQ(parse(bytes + "X: b\r\n\r\n", head).status, Status::RequestHeaderFieldsTooLarge);
  EXPECT_EQ(parse(bytes + "\r\n", head, {.fields_max = RequestHead::fields_capacity}).state, HeadState::Complete);
}

TEST(Parser, waits_for_nothing_received_yet) {
  RequestHead head;
  EXPECT_EQ(parse("", head).state, HeadState::Incomplete);
  EXPECT_EQ(parse(std::string_view(), head).state, HeadState::Incomplete);
  EXPECT_EQ(parse("\r", head).state, HeadState::Incomplete);
  EXPECT_EQ(parse("\r\n", head).state, HeadState::Incomplete);
}

TEST(ParserDeathTest, has_room_for_a_fixed_number_of_fields) {
  RequestHead head;
  EXPECT_DEATH(parse_head("GET", {.fields_max = RequestHead::fields_capacity + 1}, head),
               "fields_max must not exceed the room");
}

// The bytes of every file in a folder of ../shared/corpora; empty when it is not there.
std::vector<std::string> corpus(const char* folder) {
  std::vector<std::string> seeds;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KEEL_CORPORA) + folder, absent)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

TEST(Parser, keeps_its_invariants_over_requests_that_fuzzers_found) {
  const std::vector<std::string> seeds = corpus("/fuzz/http1");
  if (seeds.empty()) GTEST_SKIP() << KEEL_CORPORA "/fuzz/http1 is not here";
  std::size_t complete = 0;
  for (const std::string& seed : seeds) {
    // A seed holds several requests; each is tried from its start.
    for (std::string_view rest = seed; !rest.empty();) {
      RequestHead head;
      if (parse(rest, head).state == HeadState::Complete) ++complete;
      const std::size_t mark = rest.find("--MARK--\n");
      rest = mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 9);
    }
  }
  EXPECT_GT(complete, seeds.size() / 20) << "a corpus of which nothing is accepted shows little";
}

TEST(Parser, keeps_its_invariants_over_targets_that_fuzzers_found) {
  const std::vector<std::string> seeds = corpus("/fuzz/url");
  if (seeds.empty()) GTEST_SKIP() << KEEL_CORPORA "/fuzz/url is not here";
  for (const std::string& seed : seeds) {
    for (const char* method : {"GET ", "CONNECT ", "OPTIONS "}) {
      cut_everywhere(method + seed + " HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    cut_everywhere("GET / HTTP/1.1\r\nHost: " + seed + "\r\n\r\n");
  }
}

}  // namespace
}  // namespace keel::http::parser_test
