// gen/exchange.h — the C++ that a service and its clients share: the structs of requests and of headers, and the
// constants that describe how they are serialized.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gen/operations.h"
#include "gen/types.h"
#include "openapi/document.h"

namespace keel::gen {

std::string capital(std::string_view text);
bool is_wild(std::string_view media_type);
bool is_success(const Response& response);
// "{\"a\", \"b\"}".
std::string list_of_literals(const std::vector<std::string_view>& texts);
std::string described(const openapi::Node& node);
// "GET /products/{id}: One product (deprecated)".
std::string title_of(const Operation& operation);

// " = {}" if a member of the type would otherwise be uninitialized.
std::string initialised(const Type& type, const std::string& initialiser);
std::string request_struct(const Operation& operation);
// Whether the operation's request has a body that is read before the handler is called.
bool has_body_member(const Operation& operation);
// Returns the definitions of the structs for the headers of all responses that have headers.
std::string header_structs(const Operation& operation);

// A reader as a template argument: text that selects one of the overloads of read_json().
std::string reader_of(const Type& type);
// "keel::contract::Form::Text".
std::string form_literal(std::string_view form);
// The definition of the constant `name`, which lists the members by name, or "" if there are none; `others` is set to
// the form of all other members. The text is indented for use inside a function, or not indented for use outside of a
// function. For a form, `media` is the media type that has the `encoding`.
std::string fields_of(const Type& type, const std::string& name, std::string& others, const std::string& indent = "  ",
                      const openapi::Node* media = nullptr);
// The parameters of a verifier that get the credentials of a scheme.
std::string credentials_of(const Scheme& scheme);
// The result of either_of(), which does for a parameter that is a oneOf with a list or an object what fields_of() does
// for an object.
struct EitherText {
  std::string fields;  // The definition of the constant, or "".
  std::string name;    // The name of the constant; "{}" if there is none.
  std::string parts;   // The form of a list's elements, or of those members of an object that have no field.
  std::string single;  // The form of the alternatives that are neither a list nor an object.
};
EitherText either_of(const Alternatives& alternatives, const std::string& name, const std::string& indent = "  ");
// The definition of the constant `name` for a parameter.
std::string parameter_constant(const Parameter& parameter, std::string& name);
// Its initialiser: "{.name = …}".
std::string parameter_initialiser(const Parameter& parameter, const std::string& indent);
// The definition of the constant `alternatives`, and the definitions of the constants that `alternatives` uses. If
// there is a prefix, the definitions are for use outside of a function, and the name of the constant is
// "PREFIX_security".
std::string alternatives_constant(const Security& security, const std::string& prefix = {});

}  // namespace keel::gen
