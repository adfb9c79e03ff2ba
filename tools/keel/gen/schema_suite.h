// gen/schema_suite.h — for a test: the schemas of JSON-Schema-Test-Suite as tables (schema_suite.cc).

#pragma once

#include <cstddef>

#include "keel/contract/schema.h"

namespace keel::gen {

struct SuiteSchema {
  const char* file;                // "optional/format/date.json"
  const contract::Schema* schema;  // Null if the generator could not make the schema; `why` then has the error message.
  const char* why;
};

// The schemas of all files, in the order of the files.
extern const SuiteSchema suite_schemas[];
extern const std::size_t suite_schemas_count;

}  // namespace keel::gen
