// A response of any bytes is one of the contract's, read and checked, or an error that says that the other server is at
// fault, in a text without control characters.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "keel/contract/internal/header_list.h"
#include "keel/contract/reply.h"

namespace {

using namespace keel;

template <class T>
void read_as(json::Reader& in, T& value, Violations& wrong) {
  json::internal::read_field<T>(in, &value, wrong);
}
void expect_upstream(const Error& error) {
  if (error.code() != Code::Upstream || !error.is_from_environment()) std::abort();
}

// Reads the list in the field, writes it again, and requires that reading this gives the same texts.
void expect_same_list(std::string_view field) {
  Arena arena;
  const auto read = [&](std::string_view from) {
    std::vector<std::string> texts;
    contract::internal::HeaderList list(from);
    while (const auto element = list.next()) texts.emplace_back(element->value(arena));
    return texts;
  };
  const std::vector<std::string> texts = read(field);
  std::string again;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i != 0) again += ',';
    contract::internal::append_element(again, texts[i]);
  }
  if (read(again) != texts) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr contract::Expected responses[] = {{200, 200, "application/json", true},
                                                     {200, 200, "text/*"},
                                                     {204, 204},
                                                     {400, 499, "application/problem+json", true}};
  static constexpr contract::Operation operation = {
      .id = "get", .method = http::Method::Get, .path = "/", .responses = responses};
  if (size < 2) return 0;
  constexpr int statuses[] = {200, 204, 404, 503};
  const int status = statuses[data[0] % 4];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t head_size = std::min<std::size_t>(data[1], text.size());
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-List: " + std::string(text.substr(0, head_size)) +
      "\r\n\r\n";
  contract::Reply reply(operation, static_cast<http::Status>(status), head, text.substr(head_size));
  const Result<> matched = reply.match();
  if (!matched) {
    expect_upstream(matched.error());
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (std::ranges::any_of(matched.error().message(), is_control)) std::abort();
    return 0;
  }
  std::map<std::string, std::vector<std::int64_t>> body;
  const Result<> read = reply.json<&read_as<std::map<std::string, std::vector<std::int64_t>>>>(body);
  if (!read) expect_upstream(read.error());
  std::optional<std::vector<std::int64_t>> list;
  const Result<> header =
      reply.header<&read_as<std::vector<std::int64_t>>>("x-list", contract::Form::BareList, true, list);
  if (!header) expect_upstream(header.error());
  expect_same_list(text);
  return 0;
}
