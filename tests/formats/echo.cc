// Reads records and writes them again, in the same format or another: for suites.py. A line is
//
//   cbor message_pack a163...
//
// the format of the bytes, in hexadecimal digits, and the one that is asked for: cbor, message_pack or json. The answer
// is a line of digits, or `error: ` and why.

#include <charconv>
#include <iostream>
#include <sstream>
#include <string>

#include "keel/data/cbor.h"
#include "keel/data/format.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/record.h"

namespace {

using namespace keel;

Result<Record> read(const std::string& format, const std::string& bytes) {
  if (format == "cbor") return cbor::parse<Record>(bytes);
  if (format == "message_pack") return message_pack::parse<Record>(bytes);
  return json::parse<Record>(bytes);
}

std::string write(const std::string& format, const Record& record) {
  if (format == "cbor") return cbor::write(record);
  if (format == "message_pack") return message_pack::write(record);
  return json::write(record);
}

std::string bytes_of(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string digits_of(const std::string& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string answer(const std::string& line) {
  std::istringstream words(line);
  std::string from;
  std::string to;
  std::string digits;
  words >> from >> to >> digits;
  const std::string bytes = bytes_of(digits);
  const Result<Record> record = read(from, bytes);
  if (!record) return "error: " + std::string(record.error().message());
  const data::Format expected = from == "cbor"   ? data::Format::Cbor
                                : from == "json" ? data::Format::Json
                                                 : data::Format::MessagePack;
  // An empty map of MessagePack is an empty list of CBOR.
  if (bytes.size() > 1 && data::detect(bytes) != expected) return "error: another format is detected";
  return digits_of(write(to, *record));
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << '\n';
}
