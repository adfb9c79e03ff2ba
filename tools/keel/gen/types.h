// gen/types.h — the C++ types of the schemas of a document.
//
//   Names names;
//   Types types(document, problems, names);                          // after lint() has found no error
//   const Type* body = types.type_of(*schema, "CreateProductBody");  // null after a problem
//   types.arrange({{"pets", {body}}});
//   for (const Types::Header& header : types.headers()) …            // inside the namespace
//   types.definitions(parts);
//
// Deterministic: the order of the keys in the document does not matter; the order of the calls of type_of() matters
// only if two unnamed schemas would get the same name.
//
// Lifetime: the document, the problems and the names must outlive it; a Type lives as long as its Types.

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gen/names.h"
#include "gen/parts.h"
#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

enum class Shape : std::uint8_t {
  Boolean,
  Integer,
  Number,
  String,
  Enum,   // keel::enum_value<T>(text) and keel::enum_name(value) use the document's names for it
  Text,   // keel::Uuid, keel::Timestamp, keel::Date: a keel::TextValue
  Bytes,  // std::vector<std::byte>, a string in base64
  File,   // std::vector<std::byte>, raw bytes in a form, a base64 string in JSON
  List,
  Map,
  Struct,
  Variant,
  Any,  // keel::json::Value
};

// How a property becomes a member.
enum class Presence : std::uint8_t {
  Required,  // T
  Optional,  // std::optional<T>, which is left out while it is empty
  Nullable,  // std::optional<T>, which is null while it is empty
  Patch,     // keel::Patch<T>: absent, null or a T
  Default,   // T with an initialiser, which stays when the property is absent
};

struct Type;

struct Member {
  std::string name;  // C++
  std::string json;
  const Type* type = nullptr;  // The type of the schema: for Nullable the std::optional, for Patch the T in it.
  Presence presence = Presence::Required;
  std::string initialiser;  // For a Default: "20".
  const openapi::Node* schema = nullptr;
  bool must_come = false;  // Whether its absence is a violation: in requests, unless it is read-only; in responses,
                           // unless it is write-only.
  bool is_read_only = false;
  bool is_write_only = false;
  bool is_boxed = false;  // A keel::Box<T> replaces the T or the std::optional<T>, because the type contains itself.
};

struct Type {
  Shape shape = Shape::Any;
  std::string spelling;  // Its spelling within the namespace: "std::vector<Product>".
  // "", or the name of a `keel::Complaint f(const T&)`, which returns nothing, or why the value is wrong. The function
  // checks the value itself, not its elements; for a nullable type, it checks the T in the std::optional.
  std::string check;
  std::string limits;    // The name of a keel::json::internal::of::Limits, when the check consists of nothing else.
  std::string read;      // The name of a `void f(keel::json::Reader&, T&, keel::Violations&)`, which also checks.
  std::string write;     // The name of a `void f(keel::json::Writer&, const T&)`.
  std::string parse;     // For an Enum, the name of a `bool f(std::string_view, T&)`. to_string(value) is the reverse.
  std::string expected;  // For an Enum: "must be one of books, games".
  const Type* element = nullptr;  // It is set for a List or a Map.
  const Type* inner = nullptr;    // When is_nullable: the type in the std::optional, which has the same shape.
  std::vector<Member> members;    // For a Struct.
  const Type* others = nullptr;   // If a Struct keeps other members, their type.
  bool is_nullable = false;       // Whether the type is a std::optional<…>.
  bool has_no_style = false;      // For an Any: no style of a parameter can represent its values (alternatives.h).

  // Whether it is neither a list nor an object.
  bool is_plain() const noexcept { return shape != Shape::List && shape != Shape::Map && shape != Shape::Struct; }
};

// The name of the constant keel::contract::Schema for a schema that is checked before the value is read.
using NameSchema = std::function<std::string(const openapi::Node& schema)>;

class Types {
 public:
  Types(openapi::Document& document, openapi::Problems& problems, Names& names);
  ~Types();
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  // Sets the object that makes the tables for schemas that a reader alone cannot check. Must be called before
  // type_of().
  void set_name_schema(NameSchema name_schema);

  // Returns the type of any schema; `suggested` names an inline one in PascalCase ("CreateProductBody"). Null after a
  // problem.
  const Type* type_of(const openapi::Node& schema, std::string_view suggested);
  // The initialiser for a default value of that type ("20", "Category::Books", "{}"); "" after a problem.
  std::string literal_of(const Type& type, const openapi::Node& value);

  // The output, after all type_of() calls; nothing after a problem.

  // A header, "pets" for "pets.h", and the types that it uses.
  struct Use {
    std::string file;
    std::vector<const Type*> types;
  };
  // Decides which header each type is in: if there are many types, those that only one Use needs go into a header for
  // that Use, "pets_types.h", and those that the same several Uses need go into a header for these Uses. If there are
  // few types, or if this is not called, all are in "types.h".
  void arrange(const std::vector<Use>& uses);
  // The headers that the header of a Use includes: "types.h".
  std::vector<std::string> headers_of(std::string_view file) const;
  struct Header {
    std::string name;
    std::vector<std::string> includes;  // The other headers that it includes.
    std::string text;                   // The structs and declarations, within the namespace.
  };
  // The last is "types.h", which includes the others.
  std::vector<Header> headers() const;
  void definitions(Parts& parts) const;  // Adds to the parts, within the namespace.
  // Declares the functions of the namespace `internal` that a part with this text calls. The result belongs at the
  // beginning of the part.
  std::string functions_for(std::string_view text) const;

  // The include lines that a header or a part with this text needs, in addition to these; one per line.
  static std::string includes_of(std::string_view text, std::initializer_list<std::string_view> others = {});

  // For the sources of this folder (made.h).
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace keel::gen
