#include "keel/http/message/status.h"

#include <array>
#include <cstddef>

#include "keel/base/check.h"

namespace keel::http {
namespace {

struct Entry {
  std::uint16_t code;
  std::string_view reason;
};

constexpr Entry registered[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {102, "Processing"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {208, "Already Reported"},
    {226, "IM Used"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {305, "Use Proxy"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {506, "Variant Also Negotiates"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
    {510, "Not Extended"},
    {511, "Network Authentication Required"},
};

constexpr std::size_t prefix_bytes = 13;  // "HTTP/1.1 200 "

struct Line {
  char text[status_line_bytes_max];
  unsigned char size;
};

constexpr std::array<Line, 500> make_lines() {
  std::array<Line, 500> lines{};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t code = i + 100;
    std::string_view phrase;
    for (const Entry& entry : registered) {
      if (entry.code == code) phrase = entry.reason;
    }
    std::size_t at = 0;
    for (char c : std::string_view("HTTP/1.1 ")) lines[i].text[at++] = c;
    lines[i].text[at++] = static_cast<char>('0' + code / 100);
    lines[i].text[at++] = static_cast<char>('0' + code / 10 % 10);
    lines[i].text[at++] = static_cast<char>('0' + code % 10);
    lines[i].text[at++] = ' ';
    for (char c : phrase) lines[i].text[at++] = c;
    lines[i].text[at++] = '\r';
    lines[i].text[at++] = '\n';
    lines[i].size = static_cast<unsigned char>(at);
  }
  return lines;
}

constexpr std::array<Line, 500> lines = make_lines();

}  // namespace

std::string_view status_line(Status status) noexcept {
  const unsigned index = static_cast<unsigned>(status) - 100;
  KEEL_CHECK(index < lines.size(), "a status must be a number from 100 to 599");
  return {lines[index].text, lines[index].size};
}

std::string_view reason(Status status) noexcept {
  if (number(status) < 100 || number(status) > 599) return {};
  std::string_view line = status_line(status);
  return line.substr(prefix_bytes, line.size() - prefix_bytes - 2);
}

}  // namespace keel::http
