#include "gen/bundle.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/base/buffer.h"
#include "keel/base/check.h"
#include "keel/data/json_writer.h"
#include "openapi/grammar.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Field;
using openapi::Form;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;
using openapi::Role;
using openapi::Version;

constexpr std::size_t path_items_in_place_max = 20'000;
constexpr std::size_t bytes_max = std::size_t{128} << 20;  // The limit for documents with inlined path items.

// The section of `components` for components of a role; empty if there is none.
std::string_view section_of(Role role, Version version) {
  switch (role) {
    case Role::Schema:
      return "schemas";
    case Role::Response:
      return "responses";
    case Role::Parameter:
      return "parameters";
    case Role::Example:
      return "examples";
    case Role::RequestBody:
      return "requestBodies";
    case Role::Header:
      return "headers";
    case Role::SecurityScheme:
      return "securitySchemes";
    case Role::Link:
      return "links";
    case Role::Callback:
      return "callbacks";
    case Role::PathItem:
      return version == Version::V30 ? "" : "pathItems";
    default:
      return "";
  }
}

// RFC 3986 §3.5: characters that a fragment may contain unescaped, except '/', which separates the parts of a pointer.
bool is_of_fragment(char c) {
  return ascii::is_alphanumeric(c) || std::string_view("-._~!$&'()*+,;=:@?").find(c) != std::string_view::npos;
}

void append_part(std::string& out, std::string_view key) {
  out += '/';
  for (const char c : key) {
    if (c == '~' || c == '/') {
      out += c == '~' ? "~0" : "~1";
    } else if (is_of_fragment(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', ascii::hex_upper[byte >> 4], ascii::hex_upper[byte & 15]};
    }
  }
}

std::vector<std::string> parts_of(const Node& node) {
  std::vector<std::string> parts;
  for (const Node* at = &node; at->parent != nullptr; at = at->parent) {
    if (at->parent->is(Kind::List)) {
      const auto& all = at->parent->children;
      parts.push_back(std::to_string(std::find(all.begin(), all.end(), at) - all.begin()));
    } else {
      parts.emplace_back(at->key);
    }
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::string fragment_of(const Node& node) {
  std::string fragment = "#";
  for (const std::string& part : parts_of(node)) append_part(fragment, part);
  return fragment;
}

std::string as_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_fit = ascii::is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
    if (is_fit || (!name.empty() && name.back() != '_')) name += is_fit ? c : '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

// Names to try, from the preferred name to a name that is certainly unused.
std::vector<std::string> candidates_of(const Node& node) {
  const std::filesystem::path file(*node.file);
  const std::string stem = as_name(file.stem().string());
  const std::vector<std::string> parts = parts_of(node);
  std::string whole = as_name((file.parent_path() / file.stem()).string());
  std::string last = parts.empty() ? stem : as_name(parts.back());
  if (last.empty() || last.find_first_not_of("0123456789") == std::string::npos) last.clear();
  std::vector<std::string> all;
  if (!last.empty()) all.push_back(last);
  if (!parts.empty()) all.push_back(stem + (last.empty() ? "" : "." + last));
  for (const std::string& part : parts) whole += "." + as_name(part);
  all.push_back(whole);
  std::erase(all, "");
  return all;
}

class Bundle {
 public:
  Bundle(const Document& document, Problems& problems) : document_(document), problems_(problems) {}

  std::string run() {
    write_all();  // The first pass only finds the parts that have to be moved.
    for (std::size_t count = 0; count != moved_.size();) {
      count = moved_.size();
      Buffer scratch;
      text_ = &scratch;
      json::Writer out(scratch);
      out.begin_array();
      // write() appends the nodes that it finds to moved_.
      for (std::size_t i = 0; i < moved_.size(); ++i) write(out, *moved_[i].node, moved_[i].role);
      out.end_array();
    }
    choose_names();
    return write_all();
  }

 private:
  struct Moved {
    const Node* node;
    Role role;
  };

  std::string write_all() {
    written_in_place_ = 0;
    Buffer text;
    text_ = &text;
    json::Writer out(text);
    write(out, document_.root(), Role::OpenApi);
    return std::string(text.view());
  }

  bool is_root(const Node& node) const { return node.file == document_.root().file; }

  // Collects, for each section, the names of the first file's own components; moved components must not get these
  // names.
  void choose_names() {
    std::map<std::string_view, std::set<std::string>> taken;
    if (const Node* const components = document_.root().find("components", Kind::Map)) {
      for (const Node* const section : components->children) {
        for (const Node* const one : section->children) taken[section->key].emplace(one->key);
      }
    }
    std::vector<Moved> sorted = moved_;
    const auto key_of = [](const Moved& one) { return std::pair(*one.node->file, parts_of(*one.node)); };
    std::sort(sorted.begin(), sorted.end(), [&](const Moved& a, const Moved& b) { return key_of(a) < key_of(b); });
    std::map<std::string_view, std::map<std::string, int>> wanted;
    for (const Moved& one : sorted) {
      for (const std::string& name : candidates_of(*one.node))
        ++wanted[section_of(one.role, document_.version())][name];
    }
    for (const Moved& one : sorted) {
      const std::string_view section = section_of(one.role, document_.version());
      std::string name;
      for (const std::string& candidate : candidates_of(*one.node)) {
        name = candidate;
        if (wanted[section][candidate] == 1 && !taken[section].contains(candidate)) break;
      }
      if (name.empty()) name = "_";
      std::string unique = name;
      for (int i = 2; !taken[section].insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
      names_[{one.node, section}] = unique;
    }
    moved_ = std::move(sorted);
    std::sort(moved_.begin(), moved_.end(), [&](const Moved& a, const Moved& b) { return name_of(a) < name_of(b); });
  }
  const std::string& name_of(const Moved& one) { return names_[{one.node, section_of(one.role, document_.version())}]; }

  // The text of a `$ref` to `found`.
  std::string reference_to(const Node& found, Role role) {
    const Node* target = &found;
    // A file that consists only of a reference does not become a component, so the reference is followed.
    while (!is_root(*target) && target->children.size() == 1 && document_.target(*target) != nullptr) {
      target = document_.target(*target);
    }
    if (is_root(*target)) return fragment_of(*target);
    const std::string_view section = section_of(role, document_.version());
    const auto [known, is_new] = names_.try_emplace({target, section});
    if (is_new) moved_.push_back({target, role});
    return "#/components/" + std::string(section) + "/" + known->second;
  }

  void write_raw(json::Writer& out, const Node& node) {
    switch (node.kind) {
      case Kind::Null:
        out.null();
        return;
      case Kind::String:
        out.string(node.text);
        return;
      case Kind::Boolean:
      case Kind::Number:
        out.raw(node.text);
        return;
      case Kind::List:
        out.begin_array();
        for (const Node* const child : node.children) write_raw(out, *child);
        out.end_array();
        return;
      case Kind::Map:
        out.begin_object();
        for (const Node* const child : node.children) write_raw(out.key(child->key), *child);
        out.end_object();
        return;
    }
  }

  void write(json::Writer& out, const Node& node, Role role) {
    if (!node.is(Kind::Map) || role == Role::None) return write_raw(out, node);
    const bool is_reference = openapi::may_be_reference(role) && node.find("$ref", Kind::String) != nullptr;
    const Node* const target = is_reference ? document_.target(node) : nullptr;
    if (target != nullptr && role == Role::PathItem && section_of(role, document_.version()).empty()) {
      return write_in_place(out, node);
    }
    if (is_reference && target == nullptr) {
      problems_.error(*node.find("$ref"),
                      "has no target; in examples and in members that begin with x-, a $ref is not a reference");
    }
    out.begin_object();
    for (const Node* const child : node.children) {
      if (target != nullptr && child->key == "$ref") {
        out.key("$ref").string(reference_to(*target, role));
      } else if (role == Role::Schema && (child->key == "$id" || child->key == "$anchor")) {
        continue;
      } else {
        write_member(out, *child, role);
      }
    }
    if (role == Role::OpenApi && node.find("components") == nullptr && !moved_.empty()) {
      out.key("components").begin_object();
      write_sections(out, nullptr);
      out.end_object();
    }
    if (role == Role::Components) write_sections(out, &node);
    out.end_object();
  }

  void write_in_place(json::Writer& out, const Node& node) {
    const Node* const item = document_.resolve(node);
    const bool is_inside_itself = std::find(in_place_.begin(), in_place_.end(), item) != in_place_.end();
    if (item == nullptr || is_inside_itself || ++written_in_place_ > path_items_in_place_max ||
        text_->size() > bytes_max) {
      problems_.error(node, is_inside_itself ? "the path item contains itself: it cannot be written in one document"
                                             : "the document becomes too large: path items of other files are copied "
                                               "to the places that refer to them");
      out.begin_object().end_object();
      return;
    }
    in_place_.push_back(item);
    write(out, *item, Role::PathItem);
    in_place_.pop_back();
  }

  void write_member(json::Writer& out, const Node& child, Role role) {
    const bool is_extension = child.key.starts_with("x-");
    switch (role) {
      case Role::Paths:
      case Role::Callback:
        return write(out.key(child.key), child, is_extension ? Role::None : Role::PathItem);
      case Role::Responses:
        return write(out.key(child.key), child, is_extension ? Role::None : Role::Response);
      case Role::Link:
        if (child.key == "operationRef" && child.is(Kind::String)) return write_operation(out, child);
        break;
      case Role::Discriminator:
        if (child.key == "mapping" && child.is(Kind::Map)) return write_mapping(out, child);
        break;
      default:
        break;
    }
    out.key(child.key);
    const Field* const field = is_extension ? nullptr : openapi::find_field(role, child.key);
    if (field == nullptr) return write_raw(out, child);
    switch (field->form) {
      case Form::One:
      case Form::SchemaOrFlag:
        return write(out, child, field->role);
      case Form::List:
        if (!child.is(Kind::List)) break;
        out.begin_array();
        for (const Node* const one : child.children) write(out, *one, field->role);
        out.end_array();
        return;
      case Form::Map:
        if (!child.is(Kind::Map)) break;
        out.begin_object();
        for (const Node* const one : child.children) write(out.key(one->key), *one, field->role);
        if (role == Role::Components && child.parent->parent == &document_.root()) write_moved(out, child.key);
        out.end_object();
        return;
      default:
        break;
    }
    write_raw(out, child);
  }

  void write_mapping(json::Writer& out, const Node& mapping) {
    out.key(mapping.key).begin_object();
    const Node* const components = document_.root().find("components", Kind::Map);
    const Node* const schemas = components == nullptr ? nullptr : components->find("schemas", Kind::Map);
    for (const Node* const one : mapping.children) {
      out.key(one->key);
      const bool is_name = schemas != nullptr && schemas->find(one->text) != nullptr;
      const Node* const target = is_name || !one->is(Kind::String) ? nullptr : document_.look_up(*one, one->text);
      if (target != nullptr) {
        out.string(reference_to(*target, Role::Schema));
      } else {
        write_raw(out, *one);
      }
    }
    out.end_object();
  }

  void write_operation(json::Writer& out, const Node& reference) {
    const Node* const target = document_.look_up(reference, reference.text);
    if (target == nullptr || is_root(*target)) {
      out.key("operationRef").string(target == nullptr ? std::string(reference.text) : fragment_of(*target));
      return;
    }
    const std::string_view id = target->string("operationId");
    if (id.empty()) problems_.error(reference, "the operation is in another file and has no operationId");
    out.key("operationId").string(id);
  }

  // Writes the sections that the document's own `components` does not have.
  void write_sections(json::Writer& out, const Node* components) {
    std::set<std::string_view> sections;
    for (const Moved& one : moved_) {
      const std::string_view section = section_of(one.role, document_.version());
      if (components == nullptr || components->find(section) == nullptr) sections.insert(section);
    }
    for (const std::string_view section : sections) {
      out.key(section).begin_object();
      write_moved(out, section);
      out.end_object();
    }
  }
  void write_moved(json::Writer& out, std::string_view section) {
    if (!is_named()) return;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const Moved one = moved_[i];
      if (section_of(one.role, document_.version()) != section) continue;
      write(out.key(name_of(one)), *one.node, one.role);
    }
  }
  bool is_named() const { return !names_.empty() && !names_.begin()->second.empty(); }

  const Document& document_;
  Problems& problems_;
  std::vector<Moved> moved_;  // The parts in the order in which they were found; sorted by name later.
  std::map<std::pair<const Node*, std::string_view>, std::string> names_;
  // The path items that are currently being written, each nested in the previous one.
  std::vector<const Node*> in_place_;
  std::size_t written_in_place_ = 0;
  const Buffer* text_ = nullptr;  // The text that is currently being written.
};

// An ordinary C++ literal: its bytes are escaped, so no text can end the literal early, and GCC reads a long ordinary
// literal as fast as a raw literal.
std::string literal_of(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 5 / 4);
  std::size_t column = 0;
  text += "    \"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t before = text.size();
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte >= 0x20 && byte < 0x7f && c != '?') {
      text += c;
    } else {
      // An escape has three digits, so that the next character cannot be read as part of it.
      text += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
               static_cast<char>('0' + (byte & 7))};
    }
    column += text.size() - before;
    if (column >= 110) {
      text += "\"\n    \"";
      column = 0;
    }
  }
  text += '"';
  return text;
}

}  // namespace

std::string bundle(const Document& document, Problems& problems) { return Bundle(document, problems).run(); }

std::string gzip(std::string_view text) {
  KEEL_CHECK(text.size() < std::numeric_limits<uInt>::max() / 2, "a document must have at most 64 MiB");
  z_stream stream = {};
  // Adding 16 selects a gzip header, which contains no time.
  KEEL_CHECK(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK,
             "memory for gzip must be "
             "available");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  KEEL_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflateBound() must be an upper bound");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string document_definition(std::string_view json) {
  const std::string packed = gzip(json);
  const auto view = [](std::string_view bytes) {
    return "std::string_view(\n" + literal_of(bytes) + ",\n    " + std::to_string(bytes.size()) + ")";
  };
  return "constexpr keel::contract::Document document{\n    .json = " + view(json) + ",\n    .gzip = " + view(packed) +
         "};\n";
}

}  // namespace keel::gen
