// gen/operations.h — the operations of a contract, with the names and types of the generated C++.
//
// Errors:   the mistakes that lint() does not find are added to Problems.
// Lifetime: the results contain views of the document, so the document must outlive the results.

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
  std::string place;      // "Path", "Query", "Header" or "Cookie".
  std::string style;      // "Form", …
  bool explodes = false;
  bool is_required = false;
  bool is_json = false;  // The parameter has a `content` instead of a `schema`.
  std::string in_route;  // For a path parameter, its name in the router's pattern.
  const Type* type = nullptr;
  std::string initialiser;  // The default as C++; "" if the parameter has no default.
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
  // Null if the body is streamed or if there is no body. For a form with files, the type of its fields; null if it has
  // no fields.
  const Type* type = nullptr;
  std::vector<FormFile> files;  // The files of a form that is read as it arrives; empty for any other body.
  // How undeclared parts of a form with files are treated: a value of contract::Undeclared.
  std::string undeclared;
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
  std::vector<std::vector<Requirement>> alternatives;  // If this list is empty, every client may call the operation.
};

struct Operation {
  std::string name;      // "get_product".
  std::string title;     // "GetProduct".
  std::string request;   // "GetProductRequest".
  std::string response;  // "GetProductResponse".
  // For a form with files, `file` is a name such as "AddPictureFile", and `files` is "AddPictureFiles".
  std::string file;
  std::string files;
  std::string_view id;  // The operationId in the contract; may be empty.
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
  std::vector<Scheme> schemes;  // Only the schemes that operations use.
  std::string base;             // The path of the first server: "/v1", or "".
  // The initializer of contract::DocumentationOptions, in which a path is empty if the contract has its own operation
  // for that path.
  std::string documentation;
};

Contract read_contract(openapi::Document& document, Types& types, Names& names, openapi::Problems& problems);

}  // namespace keel::gen
