// api/init.h — writes an OpenAPI document from the records of a service's tests (http/testing/contract_recorder.h).
//
// The records of several programs are merged: an operation contains everything that any program recorded about it.
// Names are short: a schema has the last part of its type's name, or more parts if two types would get the same name.
// An operation is named after its handler and its path: the handler `create` of `POST /orders` gives `create_order`.
// Parts that OpenAPI cannot express are left out, with a comment.

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
// is not a record, or the records contain no operation.
Result<std::string> write_contract(std::vector<Record> records, std::string_view title);

}  // namespace keel::api
