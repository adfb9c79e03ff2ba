// api/init.h — writes an OpenAPI document from the records of a service's tests (http/testing/contract_recorder.h).
//
// The records of several programs are merged: an operation has everything that any of the programs has recorded. Names
// are short: a type has the last part of its name, or more parts where two types would get the same name. An operation
// is named after its handler and its path: `create` of `POST /orders` is create_order. Parts that OpenAPI cannot
// express are left out, with a comment.

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

// Returns the document, as YAML; the same records give the same document, whatever their order. InvalidArgument: a text
// is not a record, or there is no operation in the records.
Result<std::string> write_contract(std::vector<Record> records, std::string_view title);

}  // namespace keel::api
