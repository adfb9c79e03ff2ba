// gen/form_files.h — the files of a form that is read as it arrives: finds the properties of the schema that are files,
// and generates their C++ (keel/contract/files.h).
//
//   if (auto split = split_form(document, *media, problems)) …    // properties that are files, and a schema of the
//   rest

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

struct Operation;

struct FormFile {
  std::string_view wire;
  std::string name;         // The enumerator: "Picture".
  std::string member;       // The member of the client's struct: "picture".
  std::string media_types;  // The allowed media types, such as "image/png, image/*"; "" if any is allowed.
  std::optional<std::uint64_t> bytes_min;
  std::optional<std::uint64_t> bytes_max;
  std::optional<std::uint64_t> count_min;
  std::optional<std::uint64_t> count_max;
  bool is_required = false;
  bool is_list = false;
  const openapi::Node* node = nullptr;
};

struct SplitForm {
  std::vector<FormFile> files;  // The files, sorted by name.
  // A schema of the properties that are not files; null if all declared properties are files.
  const openapi::Node* fields = nullptr;
  bool is_closed = false;  // Whether the schema excludes properties that are not files; false unless `fields` is null.
};

// Returns nothing for a form without files. If the schema of a form with files has a keyword that concerns files and
// fields together, adds a warning that the files are kept in memory, and returns nothing.
std::optional<SplitForm> split_form(openapi::Document& document, const openapi::Node& media,
                                    openapi::Problems& problems);

// The media types that the `encoding` of a form allows for the part of a field, in the format of contract::Field; "" if
// any is allowed. If the field's form is Json, its part is always JSON.
std::string media_types_of(const openapi::Node* media, std::string_view property, std::string_view form);

// For the header of a tag: the definitions of the enum of the files and of the handler's parameter type.
std::string file_types(const Operation& operation);
// The definition of the constant `name`, which contains the rules of the files.
std::string file_rules(const Operation& operation, const std::string& name, const std::string& indent);
// The definition of the constant "NAME_form", which describes how the service reads the form, with the constants that
// it uses.
std::string received_form(const Operation& operation);
// For the header of a client: the definition of the struct with the files to be sent.
std::string upload_struct(const Operation& operation, const std::string& name);

}  // namespace keel::gen
