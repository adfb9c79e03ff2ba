// keel/config/reference.h — every key of a configuration as tables of Markdown, for a page of documentation.
//
//   std::fputs(config::reference<ShopConfig>().c_str(), page);
//
// The tables come from the same list of fields as --help (config.h), so the tables and --help have the same content.
// Each section becomes a heading of the second level, which is the section's path; the section's help sentence and a
// table follow. The table has a row for each key: its path, its allowed values, its default, its help sentence, and
// whether a reload changes it. N in a path stands for an index of a list, and NAME stands for a name that the
// configuration chooses. A Secret has a row for its value and a row for its file; its default is not shown. Characters
// of help sentences that Markdown would read as markup are escaped.
//
// Errors:  none; an enum whose default has no name throws a Bug.
// Threads: any, one at a time.
// Cost:    only when reference() is called.

#pragma once

#include <string>

#include "keel/config/schema.h"

namespace keel::config {

namespace internal {
// Adds one element to each empty list and map in the value that `schema` describes, so that the keys of elements are
// shown.
std::string reference(const Schema& schema);
}  // namespace internal

// The tables of T, with the defaults of its initializers. The text ends with one line feed; it is empty for a T without
// keys.
template <Section T>
std::string reference() {
  T value{};
  Schema schema;
  internal::list_fields(schema, value);
  return internal::reference(schema);
}

}  // namespace keel::config
