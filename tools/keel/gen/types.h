// gen/types.h — the C++ types of the schemas of a document.
//
//   Names names;
//   Types types(document, problems, names);                          // after lint() has found no error
//   const Type* body = types.type_of(*schema, "CreateProductBody");  // null after a problem
//   types.arrange({{"pets", {body}}});
//   for (const Types::Header& header : types.headers()) …            // inside the namespace
//   types.definitions(parts);
//
// The output does not depend on the order of the keys in the document. The output depends on the order of the calls of
// type_of() only if two unnamed schemas would get the same name.
//
// Lifetime: the document, the problems and the names must outlive the Types; a Type lives as long as its Types.

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
  Text,   // a keel::TextValue: keel::Uuid, keel::Timestamp or keel::Date
  Bytes,  // std::vector<std::byte>, which is a base64 string in JSON
  File,   // std::vector<std::byte>, which is raw bytes in a form and a base64 string in JSON
  List,
  Map,
  Struct,
  Variant,
  Any,  // keel::json::Value
};

// How the member represents a property that is absent or null.
enum class Presence : std::uint8_t {
  Required,  // T
  Optional,  // std::optional<T>, which is left out while it is empty
  Nullable,  // std::optional<T>, which is null while it is empty
  Patch,     // keel::Patch<T>: absent, null or a T
  Default,   // T with an initialiser, whose value the member keeps if the property is absent
};

struct Type;

struct Member {
  std::string name;  // C++
  std::string json;
  // The type of the property's schema: for Nullable the std::optional, for Patch the T in the keel::Patch.
  const Type* type = nullptr;
  Presence presence = Presence::Required;
  std::string initialiser;  // For a Default: "20".
  const openapi::Node* schema = nullptr;
  // Whether a missing property is a violation: in requests unless the property is read-only, and in responses unless it
  // is write-only.
  bool must_come = false;
  bool is_read_only = false;
  bool is_write_only = false;
  // Whether the member is a keel::Box<T> instead of a T or a std::optional<T>, because the type contains itself.
  bool is_boxed = false;
};

struct Type {
  Shape shape = Shape::Any;
  std::string spelling;  // The C++ type as spelled within the namespace: "std::vector<Product>".
  // "", or the name of a function `keel::Complaint f(const T&)`, which returns why the value is wrong, or an empty
  // Complaint. The function checks the value itself, not its elements; for a nullable type, it checks the T within the
  // std::optional.
  std::string check;
  std::string limits;  // If the check consists only of limits, the name of a keel::json::internal::of::Limits.
  // The name of a function `void f(keel::json::Reader&, T&, keel::Violations&)`, which also checks.
  std::string read;
  std::string write;  // The name of a function `void f(keel::json::Writer&, const T&)`.
  // For an Enum, the name of a function `bool f(std::string_view, T&)`; to_string(value) converts back.
  std::string parse;
  std::string expected;           // For an Enum: "must be one of books, games".
  const Type* element = nullptr;  // For a List or a Map, the type of the elements; else null.
  const Type* inner = nullptr;    // If is_nullable, the type within the std::optional, which has the same shape.
  std::vector<Member> members;    // For a Struct.
  const Type* others = nullptr;   // The type of undeclared members, if a Struct keeps them; else null.
  bool is_nullable = false;       // Whether the type is a std::optional<…>.
  // For an Any, whether no style of a parameter can represent its values (alternatives.h).
  bool has_no_style = false;

  // Whether the type is neither a list nor an object.
  bool is_plain() const noexcept { return shape != Shape::List && shape != Shape::Map && shape != Shape::Struct; }
};

// Returns the name of the constant keel::contract::Schema for a schema that is checked before the value is read.
using NameSchema = std::function<std::string(const openapi::Node& schema)>;

class Types {
 public:
  Types(openapi::Document& document, openapi::Problems& problems, Names& names);
  ~Types();
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  // Sets the function that makes the tables for schemas that a reader alone cannot check. Call this function before
  // type_of().
  void set_name_schema(NameSchema name_schema);

  // Returns the type of any schema; `suggested` is the PascalCase name for the type of an inline schema
  // ("CreateProductBody"). Null after a problem.
  const Type* type_of(const openapi::Node& schema, std::string_view suggested);
  // Returns the initialiser for a default value of that type ("20", "Category::Books", "{}"); "" after a problem.
  std::string literal_of(const Type& type, const openapi::Node& value);

  // The functions below return the output, or nothing after a problem; call them after all calls of type_of().

  // A header that uses types: its name without ".h", such as "pets", and the types.
  struct Use {
    std::string file;
    std::vector<const Type*> types;
  };
  // Decides which header each type is in: if there are many types, the types that only one Use needs go into a header
  // for that Use, such as "pets_types.h", and the types that the same several Uses need go into a header for these
  // Uses. If there are few types, or if arrange() is not called, all types are in "types.h".
  void arrange(const std::vector<Use>& uses);
  // The type headers that the header of a Use must include: "types.h".
  std::vector<std::string> headers_of(std::string_view file) const;
  struct Header {
    std::string name;
    std::vector<std::string> includes;  // The other headers that this header includes.
    std::string text;                   // The structs and declarations, without the enclosing namespace.
  };
  // The last header is "types.h", which includes the other headers.
  std::vector<Header> headers() const;
  void definitions(Parts& parts) const;  // Adds the definitions to the parts, without the enclosing namespace.
  // Returns the code of the functions in the namespace `internal` that are called by a part whose text is `text`. The
  // result belongs at the beginning of the part.
  std::string functions_for(std::string_view text) const;

  // The include lines that a header or a part with this text needs, and the include lines for `others`; one per line.
  static std::string includes_of(std::string_view text, std::initializer_list<std::string_view> others = {});

  // The state, which only the sources of this folder use (made.h).
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace keel::gen
