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
  std::string media_types;  // "image/png, image/*"; "" for any.
  std::optional<std::uint64_t> bytes_min;
  std::optional<std::uint64_t> bytes_max;
  std::optional<std::uint64_t> count_min;
  std::optional<std::uint64_t> count_max;
  bool is_required = false;
  bool is_list = false;
  const openapi::Node* node = nullptr;
};

struct SplitForm {
  std::vector<FormFile> files;            // In the order of their names.
  const openapi::Node* fields = nullptr;  // A schema of the other properties; null: there are none.
  bool is_closed = false;                 // The schema excludes other properties. Set if there are no fields.
};

// Empty for a form without files, and for a form whose schema has a keyword that concerns files and fields together: a
// warning then says that the form is read as a whole.
std::optional<SplitForm> split_form(openapi::Document& document, const openapi::Node& media,
                                    openapi::Problems& problems);

// The Content-Type of a field's part in the `encoding` of a form, as a contract::Field has it; "" if any is allowed.
// A part of the form Json is always JSON.
std::string media_types_of(const openapi::Node* media, std::string_view property, std::string_view form);

// For the header of a tag: the enum of the files, and the type of the handler's parameter.
std::string file_types(const Operation& operation);
// The constant `name`: the rules of the files.
std::string file_rules(const Operation& operation, const std::string& name, const std::string& indent);
// The constant "NAME_form", with the constants that it uses: the form as the service reads it.
std::string received_form(const Operation& operation);
// For the header of a client: the struct with the files to be sent.
std::string upload_struct(const Operation& operation, const std::string& name);

}  // namespace keel::gen
