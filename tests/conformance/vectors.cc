#include "vectors.h"

namespace conformance {
namespace {

using namespace std::string_literals;

std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
std::string post(const std::string& fields, const std::string& body) {
  return "POST /p HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + body;
}
std::string chunked(const std::string& body) { return post("Transfer-Encoding: chunked\r\n", body); }
std::string repeated(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::vector<Accepted> make_accepted() {
  std::vector<Accepted> list;
  const auto add = [&](std::string name, std::string wire, std::string body = "", int status = 200) {
    list.push_back({std::move(name), std::move(wire), {{status, std::move(body), false}}});
  };
  const auto closing = [&](std::string name, std::string wire, std::string body = "") {
    list.push_back({std::move(name), std::move(wire), {{200, std::move(body), false}}, true});
  };

  // Methods (RFC 9110 §9).
  add("GET", get("/"));
  list.push_back({"HEAD", "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", {{200, "", true}}});
  list.push_back({"HEAD of an answer with content", "HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n", {{200, "", true}}});
  add("POST", post("Content-Length: 3\r\n", "abc"), "abc");
  add("PUT", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "abc");
  add("PATCH", "PATCH / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "abc");
  add("DELETE", "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("DELETE with content", "DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "x");
  add("GET with content", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "x");
  add("OPTIONS", "OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "", 204);
  add("OPTIONS * as a proxy is told", "OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n", "", 204);
  add("TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a method nobody knows", "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", "", 501);
  add("a method in lower case is another", "get / HTTP/1.1\r\nHost: a\r\n\r\n", "", 501);
  add("a method of unusual token bytes", "A!#$%&'*+-.^_`|~9 / HTTP/1.1\r\nHost: a\r\n\r\n", "", 501);
  add("CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", "", 501);

  // Targets (RFC 9112 §3.2).
  add("a query", get("/a?b=c&d=e"));
  add("an empty query", get("/a?"));
  add("a query with more than one '?'", get("/a?b?c/d"));
  add("absolute form", "GET http://a/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
  add("absolute form without a path", "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n");
  add("absolute form, a query without a path", "GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n");
  add("absolute form, the default port", "GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n");
  add("absolute form, other case", "GET HTTP://A/ HTTP/1.1\r\nHost: a\r\n\r\n");
  add("https absolute form, not secured", "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "", 421);
  add("percent-escapes", get("/%41%7e/%2F%c3%a4"));
  add("sub-delimiters in the path", get("/a;b=c,d!e$f&g'h(i)*+,:@~-._"));
  add("empty segments", get("//a///b"));
  add("dot segments are ordinary text", get("/a/../b/./c"));
  add("brackets that should have been escaped", get("/a[d]?g[h]=i"));
  add("a broken escape in a query that nobody reads", get("/?a=%zz&b=%00"));
  add("an escaped line end in the path", get("/%0d%0aX:y"));
  add("a long target", get("/" + std::string(4000, 'x')));

  // Versions (RFC 9110 §2.5).
  add("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n");
  add("HTTP/1.9", "GET / HTTP/1.9\r\nHost: a\r\n\r\n");

  // Host (RFC 9112 §3.2, RFC 3986 §3.2.2).
  add("Host with a port", "GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n");
  add("Host with an empty port", "GET / HTTP/1.1\r\nHost: example.com:\r\n\r\n");
  add("Host is IPv4", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  add("Host is IPv6", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n");
  add("Host in other case and last", "GET / HTTP/1.1\r\nA: b\r\nhOST: a\r\n\r\n");

  // Fields (RFC 9110 §5, RFC 9112 §5).
  add("no blank behind the colon", "GET / HTTP/1.1\r\nHost:a\r\nX:y\r\n\r\n");
  add("blanks around a value", "GET / HTTP/1.1\r\nHost: \t a \t \r\nX:   y\t\r\n\r\n");
  add("an empty value", get("/", "X:\r\nY: \r\n"));
  add("a tab inside a value", get("/", "X: a\tb\r\n"));
  add("bytes from 0x80 in a value", get("/", "X: \xc3\xa4\xff\r\n"));
  add("quotes, colons and commas in a value", get("/", "X: \"a,b\":c;d=(e)\r\n"));
  add("every token byte in a name", get("/", "!#$%&'*+-.^_`|~09azAZ: x\r\n"));
  add("a field name twice", get("/", "X: a\r\nX: b\r\n"));
  add("an underscore in a name", get("/", "X_Y: a\r\n"));
  add("ninety fields", get("/", repeated(90, "X: y\r\n")));
  add("a field line of 15 KiB", get("/", "X: " + std::string(15 * 1024, 'y') + "\r\n"));
  add("a head of 60 KiB", get("/", repeated(60, "X: " + std::string(1000, 'y') + "\r\n")));
  add("one empty line in front", "\r\n" + get("/"));
  add("cookies", get("/", "Cookie: a=b; c=\"d\"\r\n"));
  add("TE, and an upgrade that is not followed",
      get("/", "TE: trailers\r\nUpgrade: h2c\r\nConnection: TE, Upgrade\r\n"));

  // Bodies by length (RFC 9112 §6.2).
  add("length 0", post("Content-Length: 0\r\n", ""));
  add("length with zeros in front", post("Content-Length: 0003\r\n", "abc"), "abc");
  add("length, name in other case", post("cOnTeNt-LeNgTh:3\r\n", "abc"), "abc");
  add("a body that looks like a request", post("Content-Length: 18\r\n", "GET / HTTP/1.1\r\n\r\n"),
      "GET / HTTP/1.1\r\n\r\n");
  add("a body of every byte", post("Content-Length: 8\r\n", "\0\r\n\x7f\xff\x80\t\x01"s), "\0\r\n\x7f\xff\x80\t\x01"s);
  add("POST without a body", post("", ""));
  add("a body of exactly 1 MiB", post("Content-Length: 1048576\r\n", std::string(1048576, 'b')),
      std::string(1048576, 'b'));

  // Bodies in chunks (RFC 9112 §7.1).
  add("one chunk", chunked("3\r\nabc\r\n0\r\n\r\n"), "abc");
  add("chunks", chunked("1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n"), "abcdef");
  add("no chunk", chunked("0\r\n\r\n"));
  add("sizes in upper and lower case", chunked("a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n"),
      "01234567890123456789a");
  add("sizes with zeros in front", chunked("0003\r\nabc\r\n00\r\n\r\n"), "abc");
  add("sixteen digits", chunked("0000000000000003\r\nabc\r\n0000000000000000\r\n\r\n"), "abc");
  add("an extension", chunked("3;a\r\nabc\r\n0;b\r\n\r\n"), "abc");
  add("an extension with a value", chunked("3;a=b\r\nabc\r\n0\r\n\r\n"), "abc");
  add("an extension with a quoted value", chunked("3;a=\"b \\\" ;\"\r\nabc\r\n0\r\n\r\n"), "abc");
  add("extensions", chunked("3;a;b=c\r\nabc\r\n0\r\n\r\n"), "abc");
  add("blanks around an extension", chunked("3; a = b\r\nabc\r\n0\r\n\r\n"), "abc");
  add("a chunk that contains line ends", chunked("4\r\n\r\n\r\n\r\n0\r\n\r\n"), "\r\n\r\n");
  add("a trailer", chunked("3\r\nabc\r\n0\r\nX: y\r\n\r\n"), "abc");
  add("trailers", chunked("3\r\nabc\r\n0\r\nX: y\r\nZ:\r\n\r\n"), "abc");
  add("a framing field in a trailer is dropped", chunked("3\r\nabc\r\n0\r\nContent-Length: 99\r\n\r\n"), "abc");
  add("the coding in other case", post("Transfer-Encoding: Chunked\r\n", "1\r\na\r\n0\r\n\r\n"), "a");
  add("chunked with GET", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "a");
  add("exactly 1 MiB in chunks", chunked(repeated(16, "10000\r\n" + std::string(65536, 'c') + "\r\n") + "0\r\n\r\n"),
      std::string(1048576, 'c'));

  // Expectations (RFC 9110 §10.1.1).
  add("Expect with a body that is there", post("Content-Length: 3\r\nExpect: 100-continue\r\n", "abc"), "abc");
  add("Expect in other case, in chunks",
      post("Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"), "abc");
  add("Expect without a body", get("/", "Expect: 100-continue\r\n"));

  // Connections (RFC 9112 §9).
  add("keep-alive", get("/", "Connection: keep-alive\r\n"));
  closing("close", get("/", "Connection: close\r\n"));
  closing("close in a list, other case", get("/", "Connection: x , CLOSE\r\n"));
  closing("close beside keep-alive", get("/", "Connection: keep-alive\r\nConnection: close\r\n"));
  closing("close with a body", post("Connection: close\r\nContent-Length: 3\r\n", "abc"), "abc");
  closing("HTTP/1.0", "GET / HTTP/1.0\r\n\r\n");
  closing("HTTP/1.0 with Host and a body", "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "abc");
  add("HTTP/1.0 that keeps alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");

  // Pipelines (RFC 9112 §9.3.2): answers in the order of the requests.
  {
    Accepted pipeline{"a pipeline of bodies", "", {}};
    for (int i = 0; i < 20; ++i) {
      const std::string number = std::to_string(1000 + i);
      pipeline.wire += post("Content-Length: 4\r\n", number);
      pipeline.answers.push_back({200, number});
    }
    list.push_back(std::move(pipeline));
  }
  list.push_back({"a pipeline of every kind",
                  get("/a") + post("Content-Length: 1\r\n", "b") + chunked("1\r\nc\r\n0\r\n\r\n") + get("/live-not") +
                      "HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n" + "BREW / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/d"),
                  {{200, ""}, {200, "b"}, {200, "c"}, {200, ""}, {200, "", true}, {501, ""}, {200, ""}}});
  list.push_back(
      {"nothing behind a close is answered", get("/", "Connection: close\r\n") + get("/"), {{200, ""}}, true});

  // What the handlers refuse leaves the connection as it is.
  add("JSON", "POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[]");
  add("what is not JSON", "POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[}", "", 400);
  add("JSON in chunks",
      "POST /json HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n");
  add("JSON that is too deep",
      "POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + std::string(100000, '['), "", 400);
  add("a number of a million digits",
      "POST /json HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + std::string(1000000, '9'));
  add("a reflected value", get("/reflect?v=abc"));
  add("a reflected CR LF", get("/reflect?v=a%0d%0aSet-Cookie:%20b"), "", 500);
  add("a reflected LF", get("/reflect?v=a%0ab"), "", 500);
  add("a reflected CR", get("/reflect?v=a%0Db"), "", 500);
  add("a reflected NUL", get("/reflect?v=a%00b"), "", 400);
  add("a reflected escape of an escape", get("/reflect?v=a%250d%250ab"));
  add("a broken escape in the query", get("/reflect?v=a%0"), "", 400);
  add("more query pairs than anybody needs", get("/reflect?" + repeated(1000, "a&")), "", 400);
  // Files (attack classes of paths and of ranges), forms and cookies.
  for (const char* path : {"../server", "%2e%2e/server", "..%2fserver", "%252e%252e/x", "..%5cx", "/etc/passwd",
                           "%2fetc%2fpasswd", "x/", "./x"}) {
    add(std::string("outside of a folder: ") + path, get(std::string("/static/") + path), "", 404);
  }
  add("a range behind the end", get("/static/x", "Range: bytes=4000-\r\n"), "", 416);
  add("a range", get("/static/x", "Range: bytes=0-9\r\n"), "", 206);
  add("ranges", get("/static/x", "Range: bytes=0-0,2-2\r\n"), "", 206);
  add("a condition that holds no more", get("/static/x", "If-Match: \"x\"\r\n"), "", 412);
  add("what is not newer", get("/static/x", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), "", 304);
  const auto upload = [&](std::string name, const std::string& body, int status) {
    add(std::move(name),
        "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body,
        "", status);
  };
  upload("a form", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--", 200);
  upload("a form without an end", "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx", 400);
  upload("a form with a longer boundary", "--bb\r\n", 400);
  upload("a form of many parts", repeated(129, "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n") + "--b--",
         400);
  upload("a part with a giant head", "--b\r\nX: " + std::string(5000, 'y') + "\r\n\r\n", 400);
  add("an upload that is no form", "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "", 415);
  add("a form without a boundary",
      "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data\r\nContent-Length: 1\r\n\r\nx", "", 400);
  add("cookies without a name", get("/cookie", "Cookie: ===;;;\r\n"));
  add("more cookies than anybody reads", get("/cookie", "Cookie: " + repeated(1000, "a=b;") + "\r\n"), "", 400);
  add("keys that share a hash", get("/reflect?" + repeated(100, "Ez=1&FY=2&")), "", 200);
  add("a known path with another method", "DELETE /items HTTP/1.1\r\nHost: a\r\n\r\n", "", 405);
  add("an item that is not there", get("/items/none"), "", 404);
  return list;
}

std::vector<Refused> make_refused() {
  std::vector<Refused> list;
  const auto add = [&](std::string name, std::string wire, int status = 400) {
    list.push_back({std::move(name), std::move(wire), status});
  };
  const std::string te = "Transfer-Encoding: chunked\r\n";
  const std::string empty = "0\r\n\r\n";

  // Length and coding together (RFC 9112 §6.3).
  add("CL and TE", post("Content-Length: 5\r\n" + te, empty));
  add("TE and CL", post(te + "Content-Length: 5\r\n", empty));
  add("CL.TE with a request inside", post("Content-Length: 6\r\n" + te, empty + "G"));
  add("TE.CL with a request inside", post(te + "Content-Length: 4\r\n", "12\r\nGET / HTTP/1.1\r\n\r\n\r\n0\r\n\r\n"));
  add("CL 0 and TE", post("Content-Length: 0\r\n" + te, empty));

  // A coding that is hidden, unknown or not last.
  add("xchunked", post("Transfer-Encoding: xchunked\r\n", empty), 501);
  add("identity", post("Transfer-Encoding: identity\r\n", ""), 501);
  add("gzip", post("Transfer-Encoding: gzip\r\n", ""), 501);
  add("gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", empty), 501);
  add("chunked, gzip", post("Transfer-Encoding: chunked, gzip\r\n", empty));
  add("chunked, identity", post("Transfer-Encoding: chunked, identity\r\n", empty));
  add("chunked twice in one field", post("Transfer-Encoding: chunked, chunked\r\n", empty));
  add("chunked in two fields", post(te + te, empty));
  add("chunked, then a field that hides it", post(te + "Transfer-Encoding: x\r\n", empty));
  add("a tab before chunked", post("Transfer-Encoding:\tchunked\r\n", empty));
  add("a tab behind chunked", post("Transfer-Encoding: chunked\t\r\n", empty));
  add("a vertical tab before chunked", post("Transfer-Encoding: \x0b"
                                            "chunked\r\n",
                                            empty));
  add("quoted chunked", post("Transfer-Encoding: \"chunked\"\r\n", empty));
  add("chunked with a parameter", post("Transfer-Encoding: chunked;a=b\r\n", empty));
  add("an empty coding", post("Transfer-Encoding:\r\n", empty));
  add("a comma alone", post("Transfer-Encoding: ,\r\n", empty));
  add("a comma behind chunked", post("Transfer-Encoding: chunked,\r\n", empty));
  add("a comma before chunked", post("Transfer-Encoding: , chunked\r\n", empty));
  add("chunked in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\n" + te + "\r\n" + empty);
  add("chunked and keep-alive in HTTP/1.0", "POST / HTTP/1.0\r\nConnection: keep-alive\r\n" + te + "\r\n" + empty);

  // Names.
  add("a space before the colon", post("Content-Length : 3\r\n", "abc"));
  add("a tab before the colon", post("Transfer-Encoding\t: chunked\r\n", empty));
  add("a line without a colon", get("/", "abc\r\n"));
  add("a field without a name", get("/", ": abc\r\n"));
  add("a space in a name", get("/", "a b: c\r\n"));
  add("a space before a name", "GET / HTTP/1.1\r\n Host: a\r\n\r\n");
  add("a NUL in a name", get("/", "a\0b: c\r\n"s));
  add("a control byte in a name", get("/", "a\x01: c\r\n"));
  add("DEL in a name", get("/", "a\x7f: c\r\n"));
  add("a byte from 0x80 in a name", get("/", "\xc3\xa4: c\r\n"));
  add("a delimiter in a name", get("/", "a(b): c\r\n"));
  add("content_length", post("Content_Length: 3\r\n", "abc"));
  add("transfer_encoding", post("Transfer_Encoding: chunked\r\n", empty));

  // Folded lines, line ends, control bytes.
  add("a folded line", get("/", "X: a\r\n b\r\n"));
  add("a folded line with a tab", get("/", "X: a\r\n\tb\r\n"));
  add("a folded coding", post("Transfer-Encoding:\r\n chunked\r\n", empty));
  add("LF ends the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n");
  add("LF ends a field", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n");
  add("LF ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\n");
  add("LF everywhere", "GET / HTTP/1.1\nHost: a\n\n");
  add("CR ends a field", "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n");
  add("CR inside a value", get("/", "X: a\rb\r\n"));
  add("CR CR LF", get("/", "X: a\r\r\n"));
  add("CR alone ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\rX");
  add("a NUL in a value", get("/", "X: a\0b\r\n"s));
  add("a control byte in a value", get("/",
                                       "X: a\x01"
                                       "b\r\n"));
  add("an escape in a value", get("/", "X: \x1b[2J\r\n"));
  add("DEL in a value", get("/", "X: a\x7f\r\n"));
  add("LF in front", "\n" + get("/"));
  add("CR alone in front", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("two empty lines in front", "\r\n\r\n" + get("/"));
  add("a space in front", " " + get("/"));
  add("a byte order mark in front", "\xef\xbb\xbf" + get("/"));

  // The request line.
  add("HTTP/0.9", "GET /\r\n");
  add("no version", "GET / \r\nHost: a\r\n\r\n");
  add("two spaces before the target", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("two spaces before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a tab before the target", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a tab before the version", "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n");
  add("a space behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n");
  add("a space inside the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n");
  add("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a delimiter in the method", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a control byte in the method", "G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a very long method", std::string(100, 'A') + " / HTTP/1.1\r\nHost: a\r\n\r\n", 501);
  add("http in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n");
  add("another protocol", "GET / HTCPCP/1.0\r\nHost: a\r\n\r\n");
  add("a version with a comma", "GET / HTTP/1,1\r\nHost: a\r\n\r\n");
  add("a version of two digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n");
  add("a version without a minor number", "GET / HTTP/1\r\nHost: a\r\n\r\n");
  add("HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505);
  add("HTTP/0.9 with a version", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505);
  add("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
  add("a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s);
  add("a path that does not begin with a slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n");
  add("an asterisk with GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n");
  add("another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
  add("an authority with GET", "GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n");
  add("CONNECT without a port", "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n");
  add("CONNECT with a path", "CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a fragment", get("/a#b"));
  add("a fragment behind a query", get("/?a#b"));
  add("a query alone", get("?a"));
  add("an asterisk with a query", "OPTIONS *?a HTTP/1.1\r\nHost: a\r\n\r\n");
  add("one slash behind the scheme", "GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n");
  add("DEL in the query", get("/?\x7f"));
  add("a NUL in the target", get("/a\0b"s));
  add("%00 in the path", get("/a%00b"));
  add("a broken escape in the path", get("/a%zz"));
  add("an escape cut short in the path", get("/a%4"));
  add("a control byte in the target", get("/a\x01"));
  add("a byte from 0x80 in the target", get("/\xc3\xa4"));
  // RFC 3986 has these in no path and no query; readers make '/' of one, or '%7B' of another.
  for (const char c : std::string("\\\"<>^{|}`")) {
    add("'"s + c + "' in the path", get("/a"s + c + "b"));
    add("'"s + c + "' in the query", get("/a?b="s + c));
  }
  add("CR in the target", get("/a\rb"));
  add("LF in the target", get("/a\nb"));

  // Host.
  add("no Host", "GET / HTTP/1.1\r\n\r\n");
  add("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
  add("the same Host twice", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n");
  add("an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n");
  add("a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n");
  add("a Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n");
  add("a Host with a comma", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n");
  add("a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
  add("a Host with a query", "GET / HTTP/1.1\r\nHost: a?b\r\n\r\n");
  add("a Host with a fragment", "GET / HTTP/1.1\r\nHost: a#b\r\n\r\n");
  add("a Host with a backslash", "GET / HTTP/1.1\r\nHost: a\\b\r\n\r\n");
  add("a Host with a wrong port", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n");
  add("a Host with a port too large", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n");
  add("a Host with a bracket open", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n");
  add("a Host of a port alone", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n");
  add("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n");
  add("a Host with a scheme", "GET / HTTP/1.1\r\nHost: http://a\r\n\r\n");
  add("a Host with two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n");
  add("a Host with a plus before the port", "GET / HTTP/1.1\r\nHost: a:+80\r\n\r\n");
  add("a Host with bytes from 0x80", "GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n");
  add("a Host with empty brackets", "GET / HTTP/1.1\r\nHost: []\r\n\r\n");
  add("a Host with letters in brackets", "GET / HTTP/1.1\r\nHost: [zz]\r\n\r\n");
  add("a Host with more behind the brackets", "GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n");
  add("an empty Host in HTTP/1.0", "GET / HTTP/1.0\r\nHost:\r\n\r\n");
  add("a target of another host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a target of another port", "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n");
  add("a target with a user", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n");
  add("an absolute target without Host", "GET http://a/ HTTP/1.1\r\n\r\n");
  add("an absolute target without a host", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n");

  // Content-Length.
  add("two lengths", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abcd"));
  add("the same length twice", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"));
  add("a list of lengths", post("Content-Length: 3, 3\r\n", "abc"));
  add("a list of two lengths", post("Content-Length: 3,4\r\n", "abcd"));
  add("an empty length", post("Content-Length:\r\n", ""));
  add("a blank length", post("Content-Length:  \r\n", ""));
  add("a length with a plus", post("Content-Length: +3\r\n", "abc"));
  add("a negative length", post("Content-Length: -3\r\n", "abc"));
  add("minus zero", post("Content-Length: -0\r\n", ""));
  add("a hexadecimal length", post("Content-Length: 0x3\r\n", "abc"));
  add("an octal length", post("Content-Length: 0o3\r\n", "abc"));
  add("a fraction", post("Content-Length: 3.0\r\n", "abc"));
  add("an exponent", post("Content-Length: 3e0\r\n", "abc"));
  add("an underscore in a length", post("Content-Length: 1_0\r\n", "0123456789"));
  add("a blank in a length", post("Content-Length: 1 0\r\n", "0123456789"));
  add("a length in words", post("Content-Length: three\r\n", "abc"));
  add("digits that are not ASCII", post("Content-Length: \xd9\xa3\r\n", "abc"));
  add("a length that overflows", post("Content-Length: 18446744073709551617\r\n", "a"));
  add("a length that overflows far", post("Content-Length: " + std::string(100, '9') + "\r\n", "a"));
  add("two lengths in HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd");
  add("a length above the limit", post("Content-Length: 1048577\r\n", ""), 413);
  add("a length far above the limit", post("Content-Length: 18446744073709551615\r\n", ""), 413);

  // Chunk sizes.
  add("a size that overflows", chunked("10000000000000003\r\nabc\r\n0\r\n\r\n"));
  add("a size of seventeen digits", chunked("00000000000000003\r\nabc\r\n0\r\n\r\n"));
  add("a size above the limit", chunked("100001\r\n"), 413);
  add("a size of all ones", chunked("ffffffffffffffff\r\nabc\r\n"), 413);
  add("sizes whose sum overflows", chunked("1\r\na\r\nffffffffffffffff\r\n"));
  add("sizes whose sum is above the limit", chunked("80000\r\n" + std::string(0x80000, 'x') + "\r\n80001\r\n"), 413);
  add("a negative size", chunked("-2\r\nab\r\n0\r\n\r\n"));
  add("a size with a plus", chunked("+2\r\nab\r\n0\r\n\r\n"));
  add("a size with 0x", chunked("0x2\r\nab\r\n0\r\n\r\n"));
  add("a size with an underscore", chunked("1_0\r\n0123456789abcdef\r\n0\r\n\r\n"));
  add("a space before a size", chunked(" 2\r\nab\r\n0\r\n\r\n"));
  add("a space behind a size", chunked("2 \r\nab\r\n0\r\n\r\n"));
  add("a tab behind a size", chunked("2\t\r\nab\r\n0\r\n\r\n"));
  add("a space before an extension", chunked("2 ;a\r\nab\r\n0\r\n\r\n"));
  add("an empty size", chunked("\r\nab\r\n0\r\n\r\n"));
  add("an extension without a size", chunked(";a\r\nab\r\n0\r\n\r\n"));
  add("a letter that is no digit", chunked("g\r\nab\r\n0\r\n\r\n"));
  add("a NUL in a size", chunked("2\0\r\nab\r\n0\r\n\r\n"s));
  add("a fraction as size", chunked("2.0\r\nab\r\n0\r\n\r\n"));

  // Chunk line ends.
  add("LF behind a size", chunked("2\nab\r\n0\r\n\r\n"));
  add("CR alone behind a size", chunked("2\rab\r\n0\r\n\r\n"));
  add("CR CR LF behind a size", chunked("2\r\r\nab\r\n0\r\n\r\n"));
  add("LF behind the data", chunked("2\r\nab\n0\r\n\r\n"));
  add("no line end behind the data", chunked("2\r\nab0\r\n\r\n"));
  add("more data than announced", chunked("2\r\nabc\r\n0\r\n\r\n"));
  add("less data than announced", chunked("4\r\nab\r\n0\r\n\r\n"));
  add("LF behind the last size", chunked("2\r\nab\r\n0\n\r\n"));
  add("LF ends the body", chunked("2\r\nab\r\n0\r\n\n"));

  // Chunk extensions.
  add("LF inside an extension", chunked("2;a\nb\r\nab\r\n0\r\n\r\n"));
  add("LF ends an extension", chunked("2;a\nab\r\n0\r\n\r\n"));
  add("CR inside an extension", chunked("2;a\rb\r\nab\r\n0\r\n\r\n"));
  add("LF in a quoted extension", chunked("2;a=\"\n\"\r\nab\r\n0\r\n\r\n"));
  add("CR LF in a quoted extension", chunked("2;a=\"\r\n\"\r\nab\r\n0\r\n\r\n"));
  add("a NUL in an extension", chunked("2;a\0\r\nab\r\n0\r\n\r\n"s));
  add("a quote that stays open", chunked("2;a=\"b\r\nab\r\n0\r\n\r\n"));
  add("an extension without a name", chunked("2;\r\nab\r\n0\r\n\r\n"));
  add("an extension without a value", chunked("2;a=\r\nab\r\n0\r\n\r\n"));
  add("a blank at the end of an extension", chunked("2;a \r\nab\r\n0\r\n\r\n"));
  add("more behind a quoted extension", chunked("2;a=\"b\"c\r\nab\r\n0\r\n\r\n"));
  add("a byte from 0x80 in an extension", chunked("2;\xff\r\nab\r\n0\r\n\r\n"));
  add("a giant extension", chunked("2;a=" + std::string(2000, 'b') + "\r\nab\r\n0\r\n\r\n"), 413);
  add("many extensions", chunked("2" + repeated(1000, ";a") + "\r\nab\r\n0\r\n\r\n"), 413);
  add("framing out of proportion", chunked(repeated(200, "1;" + std::string(500, 'a') + "\r\nx\r\n") + "0\r\n\r\n"),
      413);

  // Trailers.
  add("a space before the colon of a trailer", chunked("0\r\nX : y\r\n\r\n"));
  add("a trailer without a colon", chunked("0\r\nabc\r\n\r\n"));
  add("a trailer without a name", chunked("0\r\n: y\r\n\r\n"));
  add("a folded trailer", chunked("0\r\nX: y\r\n z\r\n\r\n"));
  add("LF ends a trailer", chunked("0\r\nX: y\n\r\n"));
  add("CR inside a trailer", chunked("0\r\nX: y\rz\r\n\r\n"));
  add("a NUL in a trailer", chunked("0\r\nX: \0\r\n\r\n"s));
  add("a request in place of trailers", chunked("0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  add("a trailer too large", chunked("0\r\nX: " + std::string(10000, 'y') + "\r\n\r\n"), 431);
  add("too many trailers", chunked("0\r\n" + repeated(100, "X: y\r\n") + "\r\n"), 431);

  // Sizes of the head.
  add("a target too long", get("/" + std::string(9000, 'x')), 414);
  add("a query too long", get("/?" + std::string(9000, 'x')), 414);
  add("a target that never ends", "GET /" + std::string(70000, 'x'), 414);
  add("a field line too long", get("/", "X: " + std::string(17000, 'y') + "\r\n"), 431);
  add("a name that never ends", "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(70000, 'x'), 431);
  add("too many fields", get("/", repeated(101, "X: y\r\n")), 431);
  add("fifty thousand fields", get("/", repeated(50000, "A: b\r\n")), 431);
  add("a head too large", get("/", repeated(70, "X: " + std::string(1000, 'y') + "\r\n")), 431);

  // Expectations (RFC 9110 §10.1.1).
  add("an unknown expectation", post("Content-Length: 3\r\nExpect: 200-ok\r\n", "abc"), 417);
  add("an unknown expectation beside the known", post("Content-Length: 3\r\nExpect: 100-continue, x\r\n", "abc"), 417);
  add("an empty expectation", post("Expect:\r\nContent-Length: 3\r\n", "abc"), 417);
  add("a known expectation with a parameter", post("Expect: 100-continue;a=b\r\nContent-Length: 3\r\n", "abc"), 417);
  add("an expectation with a body above the limit", post("Content-Length: 1048577\r\nExpect: 100-continue\r\n", ""),
      413);
  return list;
}

std::vector<Incomplete> make_incomplete() {
  return {
      {"nothing", "", true},
      {"an empty line", "\r\n"},
      {"half a line end", "\r"},
      {"a method", "GET"},
      {"a method and a space", "GET "},
      {"half an escape", "GET /%4"},
      {"no version", "GET /"},
      {"half a version", "GET / HTTP/1."},
      {"a request line", "GET / HTTP/1.1"},
      {"half the end of a request line", "GET / HTTP/1.1\r"},
      {"a request line and its end", "GET / HTTP/1.1\r\n"},
      {"half a name", "GET / HTTP/1.1\r\nHo"},
      {"a name", "GET / HTTP/1.1\r\nHost"},
      {"no value", "GET / HTTP/1.1\r\nHost:"},
      {"half the end of a field", "GET / HTTP/1.1\r\nHost: a\r"},
      {"no empty line", "GET / HTTP/1.1\r\nHost: a\r\n"},
      {"half an empty line", "GET / HTTP/1.1\r\nHost: a\r\n\r"},
      {"no body", post("Content-Length: 3\r\n", "")},
      {"half a body", post("Content-Length: 3\r\n", "ab")},
      {"no chunk", chunked("")},
      {"half a size", chunked("3")},
      {"half the end of a size", chunked("3\r")},
      {"half an extension", chunked("3;a")},
      {"half a quoted extension", chunked("3;a=\"b")},
      {"half a chunk", chunked("3\r\nab")},
      {"no end of a chunk", chunked("3\r\nabc")},
      {"half the end of a chunk", chunked("3\r\nabc\r")},
      {"no last chunk", chunked("3\r\nabc\r\n")},
      {"no end of the last size", chunked("3\r\nabc\r\n0\r\n")},
      {"half the end of the body", chunked("3\r\nabc\r\n0\r\n\r")},
      {"half a trailer", chunked("0\r\nX: y")},
      {"no end of the trailers", chunked("0\r\nX: y\r\n")},
  };
}

}  // namespace

const std::vector<Accepted>& accepted() {
  static const std::vector<Accepted> list = make_accepted();
  return list;
}
const std::vector<Refused>& refused() {
  static const std::vector<Refused> list = make_refused();
  return list;
}
const std::vector<Incomplete>& incomplete() {
  static const std::vector<Incomplete> list = make_incomplete();
  return list;
}

}  // namespace conformance
