// gen/operations.h — the operations of a contract, in the form that C++ needs.
//
// Errors:   mistakes that the generator finds and lint() does not are added to Problems.
// Lifetime: views live as long as the document.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gen/form_files.h"
#include "gen/names.h"
#include "gen/responses.h"
#include "gen/styles.h"
#include "gen/types.h"
#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

struct Parameter {
  std::string name;       // The name in C++.
  std::string_view wire;  // The name on the wire.
  std::string place;      // "Path", "Query", "Header", "Cookie".
  std::string style;      // "Form", …
  bool explodes = false;
  bool is_required = false;
  bool is_json = false;  // It has a `content`.
  std::string in_route;  // For a path parameter, its name in the pattern.
  const Type* type = nullptr;
  std::string initialiser;  // The default, of a parameter that has one.
  const openapi::Node* node = nullptr;

  // "std::optional<std::int64_t>".
  std::string spelling() const;
};

struct Body {
  enum class Kind : std::uint8_t { None, Json, Form, Text, Streamed };
  struct Content {
    Kind kind;
    std::string_view media_type;
    const openapi::Node* media = nullptr;
  };
  std::vector<Content> contents;
  // Null: the body is streamed, or there is none. For a form with files, the type of its fields, if any.
  const Type* type = nullptr;
  std::vector<FormFile> files;  // The files of a form that is read as it arrives; empty for any other body.
  std::string undeclared;       // How other parts of such a form are treated: a value of contract::Undeclared.
  bool is_required = false;
  const openapi::Node* node = nullptr;

  bool is_streamed() const noexcept { return !contents.empty() && contents[0].kind == Kind::Streamed; }
  bool has_files() const noexcept { return !files.empty(); }
  std::string spelling() const;
};

struct Security {
  struct Requirement {
    std::size_t scheme;
    std::vector<std::string_view> scopes;
  };
  std::vector<std::vector<Requirement>> alternatives;  // Empty: every client may call the operation.
};

struct Operation {
  std::string name;      // "get_product".
  std::string title;     // "GetProduct".
  std::string request;   // "GetProductRequest".
  std::string response;  // "GetProductResponse".
  std::string file;      // "AddPictureFile" and "AddPictureFiles", for a form with files.
  std::string files;
  std::string_view id;  // The id as in the contract; may be empty.
  std::string_view method;
  std::string_view path;
  std::string pattern;  // The pattern for the router.
  std::vector<Parameter> parameters;
  Body body;
  std::vector<Response> responses;
  Security security;
  const openapi::Node* node = nullptr;
};

struct Tag {
  std::string file;     // "products".
  std::string handler;  // "ProductsHandler".
  std::string_view name;
  std::string description;
  std::vector<Operation> operations;
};

struct Scheme {
  std::string name;        // The name of the function: "bearer_auth".
  std::string_view wire;   // The name in the contract.
  std::string kind;        // A value of contract::Scheme::Kind.
  std::string_view field;  // The field, query parameter or cookie in which an API key is sent.
  const openapi::Node* node = nullptr;
};

struct Contract {
  std::vector<Tag> tags;
  std::vector<Scheme> schemes;  // It has only the schemes that are used.
  std::string base;             // The path of the first server: "/v1", or "".
  // The initializer of contract::DocumentationOptions, in which a path is empty if the contract has its own operation
  // for it.
  std::string documentation;
};

Contract read_contract(openapi::Document& document, Types& types, Names& names, openapi::Problems& problems);

}  // namespace keel::gen
