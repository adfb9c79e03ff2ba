// api/init.h — an OpenAPI document from what the tests of a service have recorded (http/testing/contract_recorder.h).
//
// The records of several programs are one: an operation has what any of them has seen. Names are short: a type is
// called by its last part, and by more of it where two would be called the same. An operation is called by its handler
// and its path: `create` of `POST /orders` is create_order. What OpenAPI cannot say is left out, with a comment.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"

namespace keel::api {

struct Record {
  std::string file;  // For messages.
  std::string text;
};

// The document, as YAML; the same for the same records, whatever their order. InvalidArgument: what is no record, and
// where no operation is in them.
Result<std::string> write_contract(std::vector<Record> records, std::string_view title);

}  // namespace keel::api
