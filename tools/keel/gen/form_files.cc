#include "gen/form_files.h"

#include <algorithm>
#include <utility>

#include "gen/cpp.h"
#include "gen/exchange.h"
#include "gen/facets.h"
#include "gen/media_types.h"
#include "gen/names.h"
#include "gen/operations.h"
#include "keel/http/message/negotiate.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

// If a schema has only these keywords, it can be divided into the files and the other properties.
constexpr std::string_view divisible[] = {
    "$ref",         "additionalProperties", "allOf",    "deprecated", "description", "example", "examples",
    "externalDocs", "properties",           "required", "title",      "type",        "xml"};

// Removes the first media type from `rest` and returns it without parameters: "image/png" from
// "image/png; q=1, image/*". Returns "" at the end.
std::string_view next_type(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(','), rest.size());
  std::string_view type = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  type = type.substr(0, type.find(';'));
  while (type.starts_with(' ')) type.remove_prefix(1);
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

// Whether the value is bytes. OpenAPI 3.0 expresses bytes by `format`. OpenAPI 3.1 uses a `contentMediaType` without a
// `contentEncoding`, usually also without a `type`, because bytes are not a JSON string (3.1.1, "Working with Binary
// Data").
bool is_file(const Facets& facets) {
  const Kinds kinds = facets.meant();
  if (kinds != any_kind && (kinds & ~null_kind) != string_kind) return false;
  if (facets.values || facets.find("pattern") != nullptr) return false;
  const Node* const format = facets.find("format");
  if (format != nullptr) return format->text == "binary";
  const Node* const type = facets.find("contentMediaType");
  if (type == nullptr || facets.find("contentEncoding") != nullptr) return false;
  return !media_type_of(type->text).starts_with("text/") && !is_json(type->text) && !is_xml(type->text);
}

// The strictest value of the keyword in all parts of the schema.
std::optional<std::uint64_t> count_of(const Facets& facets, std::string_view keyword) {
  std::optional<std::uint64_t> strictest;
  for (const Node* const source : facets.sources) {
    const Node* const node = source->find(keyword);
    const auto whole = node == nullptr ? std::nullopt : node->whole();
    if (!whole || *whole < 0) continue;
    const auto count = static_cast<std::uint64_t>(*whole);
    if (!strictest || (keyword.starts_with("min") ? count > *strictest : count < *strictest)) strictest = count;
  }
  return strictest;
}

class Splitting {
 public:
  Splitting(Document& document, const Node& media, Problems& problems)
      : document_(document), media_(media), problems_(problems) {}

  std::optional<SplitForm> run() {
    const Node* const schema = document_.resolve(media_, "schema");
    if (schema == nullptr || !schema->is(Kind::Map)) return std::nullopt;
    const Facets facets = facets_of(document_, *schema);
    SplitForm split;
    bool has_fields = false;
    for (const auto& [name, nodes] : facets.properties) {
      FormFile file;
      file.wire = name;
      file.node = nodes.size() == 1 ? nodes[0] : &all_of(nodes);
      file.is_required = facets.required.contains(name);
      if (read(file)) {
        split.files.push_back(std::move(file));
      } else {
        has_fields = true;
      }
    }
    if (split.files.empty()) return std::nullopt;
    const Node* const additional = facets.find("additionalProperties");
    std::string why;
    for (const Node* const source : facets.sources) {
      for (const Node* const keyword : source->children) {
        if (keyword->key.starts_with("x-") || std::ranges::find(divisible, keyword->key) != std::end(divisible))
          continue;
        why = keyword->key;
      }
    }
    if (why.empty() && additional != nullptr && additional->is(Kind::Map) && is_file_or_list(*additional)) {
      why = additional->key;
    }
    if (!why.empty()) {
      problems_.warning(media_, "the files of this form are kept in memory: only a form whose schema has no '" + why +
                                    "' is read as it arrives");
      return std::nullopt;
    }
    split.is_closed = additional != nullptr && additional->is(Kind::Boolean) && !additional->is_true();
    has_fields = has_fields || (additional != nullptr && !additional->is(Kind::Boolean));
    name(split.files);
    if (has_fields) split.fields = &without(*schema, split.files);
    return split;
  }

 private:
  bool is_file_or_list(const Node& schema) const {
    const Facets facets = facets_of(document_, schema);
    const Node* const items = facets.kinds == list_kind ? facets.find("items") : nullptr;
    return is_file(facets) || (items != nullptr && is_file(facets_of(document_, *items)));
  }

  // An empty schema is a file if the `encoding` has a media type for bytes (OpenAPI 3.1.1 §4.8.15).
  bool is_file_by_type(const Node& schema, std::string_view types) const {
    if (types.empty() || !says_nothing(core_of(document_, schema))) return false;
    while (!types.empty()) {
      const std::string_view type = next_type(types);
      if (type.starts_with("text/") || is_json(type) || is_xml(type)) return false;
    }
    return true;
  }

  // Makes a schema for a property that several parts of an allOf describe.
  Node& all_of(const Facets::Nodes& parts) {
    Node& list = copy_of(*parts[0], Kind::List);
    list.key = "allOf";
    for (const Node* const part : parts) list.children.push_back(const_cast<Node*>(part));
    Node& made = copy_of(*parts[0], Kind::Map);
    made.children = {&list};
    list.parent = &made;
    for (const Node* const part : parts) {
      const Node* const description = part->find("description");
      if (description != nullptr && made.children.size() == 1) made.children.push_back(const_cast<Node*>(description));
    }
    return made;
  }

  // Sets the limits and types of `file` if the property is a file or a list of files; otherwise returns false.
  bool read(FormFile& file) const {
    const Node* schema = file.node;
    Facets facets = facets_of(document_, *schema);
    if ((facets.kinds & ~null_kind) == list_kind) {
      const Node* const items = facets.find("items");
      const auto has_other_items = [&](const Node* source) {
        const Node* const others = source->find("items");
        return others != nullptr && others != items;
      };
      if (std::ranges::any_of(facets.sources, has_other_items)) return false;
      if (items == nullptr || facets.has_any({"prefixItems", "uniqueItems", "contains", "unevaluatedItems"}))
        return false;
      file.is_list = true;
      file.count_min = count_of(facets, "minItems");
      file.count_max = count_of(facets, "maxItems");
      schema = items;
      facets = facets_of(document_, *schema);
    }
    file.media_types = media_types_of(&media_, file.wire, "File");
    if (!is_file(facets) && !is_file_by_type(*schema, file.media_types)) return false;
    file.bytes_min = count_of(facets, "minLength");
    file.bytes_max = count_of(facets, "maxLength");
    if (const Node* const type = facets.find("contentMediaType"); file.media_types.empty() && type != nullptr) {
      if (http::is_media_range(media_type_of(type->text))) file.media_types = media_type_of(type->text);
    }
    return true;
  }

  static void name(std::vector<FormFile>& files) {
    std::vector<std::string_view> wires;
    for (const FormFile& one : files) wires.push_back(one.wire);
    const std::vector<std::string> names = distinct(wires, &pascal_of);
    const std::vector<std::string> members = distinct(wires, &snake_of);
    for (std::size_t i = 0; i < files.size(); ++i) {
      files[i].name = names[i];
      files[i].member = members[i];
    }
  }

  // Returns a copy of the schema without the properties in `files`. The copied parts of the schema keep their places in
  // the document, so that messages can name these places.
  Node& without(const Node& schema, const std::vector<FormFile>& files) {
    Node& made = copy_of(schema, Kind::Map);
    const auto has = [&](std::string_view name) {
      return std::ranges::find(files, name, &FormFile::wire) != files.end();
    };
    Node* parts = nullptr;
    const auto add_part = [&](const Node& part) {
      if (parts == nullptr) {
        parts = &document_.store().make_at(schema, Kind::List);
        parts->key = "allOf";
        parts->parent = &made;
        made.children.push_back(parts);
      }
      parts->children.push_back(&without(part, files));
    };
    for (Node* const child : schema.children) {
      if (child->key == "properties" || child->key == "required") {
        Node& kept = copy_of(*child, child->kind);
        for (Node* const one : child->children) {
          if (!has(child->key == "properties" ? one->key : one->text)) kept.children.push_back(one);
        }
        made.children.push_back(&kept);
      } else if (child->key == "$ref") {
        if (const Node* const target = document_.target(schema)) add_part(*target);
      } else if (child->key == "allOf") {
        for (const Node* const part : child->children) add_part(*part);
      } else {
        made.children.push_back(child);
      }
    }
    return made;
  }
  Node& copy_of(const Node& node, Kind kind) {
    Node& made = document_.store().make_at(node, kind);
    made.key = node.key;
    made.parent = node.parent;
    return made;
  }

  Document& document_;
  const Node& media_;
  Problems& problems_;
};

std::string limit(const char* name, const std::optional<std::uint64_t>& value) {
  return std::string(name) + std::to_string(value.value_or(0));
}

}  // namespace

std::optional<SplitForm> split_form(Document& document, const Node& media, Problems& problems) {
  return Splitting(document, media, problems).run();
}

std::string media_types_of(const Node* media, std::string_view property, std::string_view form) {
  const Node* const encoding = media == nullptr ? nullptr : media->find("encoding", Kind::Map);
  const Node* const one = encoding == nullptr ? nullptr : encoding->find(property, Kind::Map);
  std::string_view rest = one == nullptr ? std::string_view() : one->string("contentType");
  std::string types;
  while (!rest.empty()) {
    const std::string type = lower(next_type(rest));
    if (!http::is_media_range(type) || type == "*/*" || (form.starts_with("Json") && !is_json(type))) return "";
    types += (types.empty() ? "" : ", ") + type;
  }
  return types;
}

std::string file_types(const Operation& operation) {
  const std::vector<FormFile>& files = operation.body.files;
  std::vector<std::string> names;
  for (const FormFile& one : files) names.push_back(one.name);
  std::string text = comment("", "The files of " + capital(operation.method) + ' ' + std::string(operation.path) +
                                     ", and the parameter from which its handler reads them.");
  std::string line = "enum class " + operation.file + " : std::uint16_t { ";
  for (const std::string& one : names) line += one + (&one == &names.back() ? " };" : ", ");
  if (line.size() > width) {
    line = "enum class " + operation.file + " : std::uint16_t {\n";
    for (const std::string& one : names) line += "  " + one + ",\n";
    line += "};";
  }
  return text + line + "\nusing " + operation.files + " = keel::contract::Files<" + operation.file + ">;\n\n";
}

std::string file_rules(const Operation& operation, const std::string& name, const std::string& indent) {
  std::string text =
      indent + (indent.empty() ? "" : "static ") + "constexpr keel::contract::FileRule " + name + "[] = {\n";
  for (const FormFile& file : operation.body.files) {
    std::vector<std::string> row = {".name = " + literal(file.wire)};
    if (!file.media_types.empty()) row.push_back(".media_types = " + literal(file.media_types));
    if (file.is_required) row.emplace_back(".is_required = true");
    if (file.is_list) row.emplace_back(".is_list = true");
    if (file.bytes_min) row.push_back(limit(".bytes_min = ", file.bytes_min));
    if (file.bytes_max) row.push_back(limit(".bytes_max = ", file.bytes_max));
    if (file.count_min) row.push_back(limit(".count_min = ", file.count_min));
    if (file.count_max) row.push_back(limit(".count_max = ", file.count_max));
    text += list(indent + "    ", "", row, ",");
  }
  return text + indent + "};\n";
}

std::string received_form(const Operation& operation) {
  const Body& body = operation.body;
  std::string text = file_rules(operation, operation.name + "_files", "");
  std::vector<std::string> values = {".files = " + operation.name + "_files"};
  if (body.type != nullptr) {
    std::string others;
    const std::string fields = operation.name + "_fields";
    const std::string constant = fields_of(*body.type, fields, others, "", body.contents[0].media);
    text += constant;
    if (!constant.empty()) values.push_back(".fields = " + fields);
    values.push_back(".others = " + others);
  }
  values.push_back(".undeclared = keel::contract::Undeclared::" + body.undeclared);
  if (!body.is_required) values.emplace_back(".is_required = false");
  if (body.type != nullptr) {
    const std::string reader = reader_of(*body.type);
    values.push_back(".offset = offsetof(" + operation.request + ", body)");
    values.push_back(".read = keel::contract::field_reader<" + reader + '>');
    if (!body.is_required) {
      values.push_back(".room = &keel::contract::room<decltype(" + operation.request + "::body), " + reader + '>');
    }
  }
  return text + list("", "constexpr keel::contract::ReceivedForm " + operation.name + "_form = ", values, ";");
}

std::string upload_struct(const Operation& operation, const std::string& name) {
  std::string text = comment("", "The files that " + capital(operation.method) + ' ' + std::string(operation.path) +
                                     " sends. A call moves their content out of this struct.");
  text += "struct " + name + " {\n";
  for (const FormFile& file : operation.body.files) {
    text += comment("  ", described(*file.node));
    text += "  " +
            std::string(file.is_list       ? "std::vector<keel::contract::FormFile>"
                        : file.is_required ? "keel::contract::FormFile"
                                           : "std::optional<keel::contract::FormFile>") +
            ' ' + file.member + " = {};\n";
  }
  return text + "};\n\n";
}

}  // namespace keel::gen
