// gen/responses.h — the responses that an operation of a contract declares, with the names and types of the generated
// C++.
//
// Errors: added to Problems for a header without a schema, and for a header whose schema cannot be written as text.
// Lifetime: the results contain views of the document, so the document must outlive the results.

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
  bool is_json = false;  // The header has a `content` instead of a `schema`.
};

struct Response {
  struct Content {
    std::string name;  // The name of the function: "ok", "not_found", "ok_csv".
    std::string_view media_type;
    const Type* type = nullptr;  // For JSON.
    bool is_text = false;
    bool is_events = false;   // The content is server-sent events, and the status is 200.
    bool is_problem = false;  // Whether a detail text is all that is needed to make the response.
  };
  std::string name;    // "ok".
  std::string status;  // "200", "4XX", "default".
  int least = 0;       // The first status that the response is for; `most` is the last status.
  int most = 0;
  std::vector<Content> contents;
  std::vector<Header> headers;
  std::string headers_name;  // The name of the struct with the response's headers.
  const openapi::Node* node = nullptr;

  bool is_one() const noexcept { return least == most; }
};

// The responses are ordered by status, with "default" last. The names of the operation's types begin with `title`.
std::vector<Response> read_responses(const openapi::Node& operation, std::string_view title,
                                     openapi::Document& document, Types& types, Names& names,
                                     openapi::Problems& problems);

}  // namespace keel::gen
