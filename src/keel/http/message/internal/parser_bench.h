// What the benchmarks of the parser and of its peers share: the requests, what each has to find in them, and how they
// are fed.

#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace keel::http::internal {

inline constexpr std::string_view plaintext = "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
// 350 bytes, as browsers send them.
inline constexpr std::string_view request_350 =
    "GET /api/users?page=2&limit=50 HTTP/1.1\r\n"
    "Host: accounts.example.com\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0\r\n"
    "Accept: application/json,text/html;q=0.9,*/*;q=0.8\r\n"
    "Accept-Language: en-GB,en;q=0.7\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "Connection: keep-alive\r\n"
    "Cookie: session=8f14e45fceea167a5a36dedd4bea2543\r\n"
    "\r\n";
static_assert(request_350.size() == 350);
// 693 bytes.
inline constexpr std::string_view browser =
    "GET /api/users?page=2&limit=50 HTTP/1.1\r\n"
    "Host: accounts.example.com\r\n"
    "Connection: keep-alive\r\n"
    "sec-ch-ua: \"Chromium\";v=\"126\", \"Not-A.Brand\";v=\"24\"\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Referer: https://accounts.example.com/users\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Cookie: session=8f14e45fceea167a5a36dedd4bea2543; theme=dark; consent=1\r\n"
    "\r\n";

// What a parser has to have found: where the target and each field are.
struct Found {
  struct Item {
    std::string_view name;
    std::string_view value;
  };
  std::string_view target;
  Item fields[64];
  std::uint32_t count = 0;
};

// Aborts unless all of `request` was found: a parser that skips work is not measured.
inline void check_found(std::string_view request, std::string_view target, std::uint32_t count,
                        std::string_view last_value) {
  const std::size_t from = request.find(' ') + 1;
  std::uint32_t lines = 0;
  for (std::size_t at = request.find("\r\n") + 2; request[at] != '\r'; at = request.find("\r\n", at) + 2) ++lines;
  const std::size_t end = request.size() - 4;
  const std::size_t value = request.rfind(": ", end) + 2;
  if (target != request.substr(from, request.find(' ', from) - from) || count != lines ||
      last_value != request.substr(value, end - value)) {
    std::abort();
  }
}

inline constexpr std::size_t fragment_bytes = 16;

}  // namespace keel::http::internal
