// gen/exchange.h — the C++ that a service and its clients share: the structs of requests and of headers, and the
// constants that describe how they are serialised.

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

// " = {}" if a member would otherwise have no value.
std::string initialised(const Type& type, const std::string& initialiser);
std::string request_struct(const Operation& operation);
// For all responses that have headers.
std::string header_structs(const Operation& operation);

// A reader as an argument of a template, which must select one of the overloads of read_json().
std::string reader_of(const Type& type);
// "keel::contract::Form::Text".
std::string form_literal(std::string_view form);
// The constant `name`, which lists the members by name, or "" if there are none; `others` is the form of all other
// members. For use inside a function, or without an indent outside of one.
std::string fields_of(const Type& type, const std::string& name, std::string& others, const std::string& indent = "  ");
// The definition of the constant `name` for a parameter.
std::string parameter_constant(const Parameter& parameter, std::string& name);
// Its initialiser: "{.name = …}".
std::string parameter_initialiser(const Parameter& parameter, const std::string& indent);
// The constant `alternatives`, with the constants that it uses. With a prefix they are outside of a function, and the
// first is "PREFIX_security".
std::string alternatives_constant(const Security& security, const std::string& prefix = {});

}  // namespace keel::gen
