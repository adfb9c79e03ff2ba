// gen/responses.h — the responses that an operation of a contract declares, in the form that C++ needs.
//
// Errors: in Problems: a header without a schema, or one whose schema cannot be written as text.
// Lifetime:views live as long as the document.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gen/names.h"
#include "gen/types.h"
#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

struct Header {
  std::string name;
  std::string_view wire;
  const Type* type = nullptr;
  bool is_required = false;
  const openapi::Node* node = nullptr;
  bool is_json = false;  // It has a `content`.
};

struct Response {
  struct Content {
    std::string name;  // The name of the function: "ok", "not_found", "ok_csv".
    std::string_view media_type;
    const Type* type = nullptr;  // For JSON.
    bool is_text = false;
    bool is_events = false;   // Server-sent events, whose status is 200.
    bool is_problem = false;  // Whether the response can be made from a detail text alone.
  };
  std::string name;    // "ok".
  std::string status;  // "200", "4XX", "default".
  int least = 0;       // The statuses that the response is for.
  int most = 0;
  std::vector<Content> contents;
  std::vector<Header> headers;
  std::string headers_name;  // The name of the struct of its headers.
  const openapi::Node* node = nullptr;

  bool is_one() const noexcept { return least == most; }
};

// Ordered by status, with "default" last. `title` is the beginning of the operation's type names.
std::vector<Response> read_responses(const openapi::Node& operation, std::string_view title,
                                     openapi::Document& document, Types& types, Names& names,
                                     openapi::Problems& problems);

}  // namespace keel::gen
