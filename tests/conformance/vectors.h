// Requests as bytes, and what the server must make of them.
//
// Each is sent with a last request behind it that asks for the end of the connection. After an accepted request the
// last one is answered too; after a rejected one nothing is.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace conformance {

struct Answer {
  int status = 200;
  std::string body = {};  // Of a success; what a problem says is not looked at.
  bool to_head = false;   // It answers HEAD: no body, whatever its fields say.
};

struct Accepted {
  std::string name;
  std::string wire;
  std::vector<Answer> answers;
  bool closes = false;  // The request itself ends the connection: the last one is not answered.
};

struct Refused {
  std::string name;
  std::string wire;
  int status = 400;
};

// A request that is not whole: it is waited for, and then the connection ends.
struct Incomplete {
  std::string name;
  std::string wire;
  bool silent = false;  // Nothing of a request has come: closed without a word.
};

const std::vector<Accepted>& accepted();
const std::vector<Refused>& refused();
const std::vector<Incomplete>& incomplete();

// The request that ends each of them, and how its response is known.
inline constexpr std::string_view last_request =
    "GET /echo HTTP/1.1\r\nHost: a\r\nLast: yes\r\nConnection: close\r\n\r\n";
inline constexpr std::string_view last_answer = "Host: a\r\nLast: yes\r\nConnection: close\r\n";

}  // namespace conformance
