#include "openapi/document.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "keel/base/arena.h"
#include "keel/base/ascii.h"
#include "keel/data/uri.h"
#include "openapi/source.h"

namespace keel::openapi {
namespace {

constexpr std::size_t files_max = 1000;
constexpr std::size_t bytes_max = std::size_t{64} << 20;
constexpr std::size_t hops_max = 64;

// The author of a document chooses the names within the following members: `example` in {properties: {example: …}} is a
// property, not an example.
constexpr std::array<std::string_view, 23> maps_of_names = {
    "$defs",         "callbacks", "content",           "definitions", "dependentSchemas",
    "encoding",      "examples",  "headers",           "links",       "mapping",
    "parameters",    "pathItems", "patternProperties", "paths",       "properties",
    "requestBodies", "responses", "schemas",           "scopes",      "securitySchemes",
    "variables",     "webhooks",  "dependentRequired"};
// Members that contain data: something in the data that looks like a reference is not a reference.
constexpr std::array<std::string_view, 5> data = {"const", "default", "enum", "example", "value"};

template <std::size_t n>
bool has(const std::array<std::string_view, n>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool has_scheme(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  if (colon == uri.npos || colon < 2) return false;
  return std::all_of(uri.begin(), uri.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return ascii::is_alphanumeric(c) || c == '+' || c == '-' || c == '.'; });
}

std::pair<std::string_view, std::string_view> split(std::string_view reference) {
  const std::size_t hash = reference.find('#');
  if (hash == reference.npos) return {reference, {}};
  return {reference.substr(0, hash), reference.substr(hash + 1)};
}

// Resolves a reference (RFC 3986 §5.2); `base` is the address of a document: a path, or a scheme, an authority and a
// path.
std::string merged(std::string_view base, std::string_view reference) {
  if (has_scheme(reference) || reference.starts_with("//")) return std::string(reference);
  std::string_view root;
  if (has_scheme(base)) {
    const std::size_t authority = base.find("://");
    if (authority == base.npos) return std::string(reference);  // A URN has no hierarchy, so nothing is relative to it.
    const std::size_t slash = base.find('/', authority + 3);
    root = base.substr(0, slash);
    base = slash == base.npos ? std::string_view("/") : base.substr(slash);
  }
  const std::filesystem::path folder = std::filesystem::path(base).parent_path();
  return std::string(root) + (folder / reference).lexically_normal().string();
}

std::string absolute_of(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  Arena arena;
  const auto decoded = uri::percent_decode(reference, arena);
  return merged(base, decoded ? *decoded : reference);
}

}  // namespace

Result<std::string> read_regular_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error) return Error::from_errno("open", error.value());
  if (!std::filesystem::is_regular_file(status)) return fail(Code::InvalidArgument, "is not a regular file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return Error::from_errno("open", errno);
  std::string text;
  std::array<char, 16 * 1024> part;
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part.data(), size);
    if (text.size() > file_bytes_max) break;  // parse_source() reports it.
  }
  if (std::ferror(file.get()) != 0) return Error::from_errno("read", errno);
  return text;
}

std::unique_ptr<Document> Document::load(const std::string& path, const ReadFile& read, Problems& problems) {
  std::unique_ptr<Document> document(new Document);
  document->root_ = document->read(std::filesystem::path(path).lexically_normal().string(), read, problems);
  if (document->root_ == nullptr) return nullptr;
  const Node& root = *document->root_;
  if (!root.is(Kind::Map)) {
    problems.error(root, "is not an OpenAPI document: expected an object");
    return nullptr;
  }
  const Node* const version = root.find("openapi");
  if (version == nullptr) {
    const bool is_swagger = root.find("swagger") != nullptr;
    problems.error(is_swagger ? *root.find("swagger") : root,
                   is_swagger ? "is Swagger 2.0: Keel reads OpenAPI 3.0 and 3.1; convert it first"
                              : "is not an OpenAPI document: 'openapi' is missing");
    return nullptr;
  }
  const std::string_view text = version->text;
  if (version->is(Kind::Number)) {
    problems.error(*version, "the version is a number: put it in quotes, \"" + std::string(text) + ".0\"");
    return nullptr;
  }
  if (!version->is(Kind::String) ||
      !(text.starts_with("3.0.") || text.starts_with("3.1.") || text.starts_with("3.2."))) {
    problems.error(*version, "OpenAPI " + shown(*version) + " is not supported: expected 3.0.x or 3.1.x");
    return nullptr;
  }
  document->version_text_ = text;
  document->version_ = text.starts_with("3.0") ? Version::V30 : Version::V31;

  // Loads the files that references name; references in these files may name further files.
  for (std::size_t i = 0; i < document->references_.size(); ++i) {
    const Reference from = document->references_[i];
    const std::string_view address = split(from.text).first;
    const std::string absolute = absolute_of(*from.base, address);
    if (address.empty() || address.starts_with('/') || has_scheme(absolute)) continue;
    if (document->ids_.contains(absolute) || document->files_.contains(absolute)) continue;
    Problems unread;  // The problems of this file; those without a line are reported at the place of the reference.
    document->read(absolute, read, unread);
    for (Problem& problem : unread.sorted()) {
      if (problem.line != 0) {
        problems.add(std::move(problem));
      } else {
        problems.error(*from.node->find("$ref"), '\'' + problem.file + "' " + problem.text);
      }
    }
  }
  document->resolve_all(problems);
  return document;
}

void Document::resolve_all(Problems& problems) {
  struct Found {
    Node* node;
    std::string why;
  };
  // Each reference is resolved once, because a document may contain the same reference many times.
  std::unordered_map<std::string, Found> known;
  for (const Reference& from : references_) {
    const auto [found, is_new] = known.try_emplace(*from.base + '\n' + std::string(from.text));
    if (is_new) found->second.node = look_up(*from.base, from.text, &found->second.why);
    targets_[from.node] = found->second.node;
    if (!found->second.why.empty()) problems.error(*from.node->find("$ref"), found->second.why);
  }
  std::vector<Node*> endless;
  for (const Reference& from : references_) {
    const Node* at = from.node;
    for (std::size_t hops = 0; at != nullptr && hops <= hops_max; ++hops) at = target(*at);
    if (at != nullptr) endless.push_back(from.node);
  }
  for (Node* const node : endless) {
    problems.error(*node->find("$ref"),
                   "the reference leads back to itself, or through more than " + std::to_string(hops_max) + " others");
    targets_[node] = nullptr;
  }
}

Node* Document::read(const std::string& path, const ReadFile& read_file, Problems& problems) {
  Node*& known = files_[path];
  const auto refuse = [&](std::string text) {
    problems.add({.file = path, .text = std::move(text), .pointer = {}});
    return nullptr;
  };
  if (files_.size() > files_max)
    return refuse("is one file too many: at most " + std::to_string(files_max) + " are read");
  Result<std::string> text = read_file(path);
  if (!text) return refuse("cannot be read: " + text.error().describe());
  bytes_ += text->size();
  if (bytes_ > bytes_max) return refuse("makes the document too large: at most 64 MiB are read");
  Node* const root = parse_source(store_, store_.name(path), *std::move(text), problems);
  if (root != nullptr) {
    known = root;
    ids_[path] = root;
    index(*root, false, root->file);
  }
  return root;
}

void Document::index(Node& node, bool are_names, const std::string* base) {
  if (node.is(Kind::Map) && !are_names) {
    if (const std::string_view id = split(node.string("$id")).first; !id.empty()) {
      has_ids_ = true;
      base = &store_.name(absolute_of(*base, id));
      ids_.try_emplace(*base, &node);
    }
    if (const std::string_view anchor = node.string("$anchor"); !anchor.empty()) {
      anchors_.try_emplace(*base + '#' + std::string(anchor), &node);
    }
    if (const Node* const reference = node.find("$ref", Kind::String)) {
      references_.push_back({.node = &node, .base = base, .text = reference->text});
    }
  }
  for (Node* const child : node.children) {
    if (child->children.empty()) continue;
    if (!node.is(Kind::Map) || are_names) {
      index(*child, false, base);
    } else if (!has(data, child->key) && !child->key.starts_with("x-") &&
               !(child->key == "examples" && child->is(Kind::List))) {
      index(*child, child->is(Kind::Map) && has(maps_of_names, child->key), base);
    }
  }
}

std::string Document::base_of(const Node& node) const {
  if (!has_ids_) return *node.file;
  for (const Node* at = &node; at != nullptr; at = at->parent) {
    // $id may also be the name of a property; in this case, its value is a schema, and string() returns "".
    const std::string_view id = split(at->string("$id")).first;
    if (!id.empty()) return absolute_of(at->parent == nullptr ? *node.file : base_of(*at->parent), id);
  }
  return *node.file;
}

std::vector<std::string> Document::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, root] : files_) paths.push_back(path);
  std::ranges::sort(paths);
  return paths;
}

std::vector<Node*> Document::references() const {
  std::vector<Node*> nodes;
  for (const Reference& one : references_) nodes.push_back(one.node);
  return nodes;
}

Node* Document::target(const Node& node) const noexcept {
  const auto found = targets_.find(&node);
  return found == targets_.end() ? nullptr : found->second;
}

Node* Document::resolve(Node& node) const noexcept {
  Node* at = &node;
  for (std::size_t hops = 0; at != nullptr && hops <= hops_max; ++hops) {
    if (at->find("$ref", Kind::String) == nullptr) return at;
    at = target(*at);
  }
  return nullptr;
}

Node* Document::look_up(const Node& node, std::string_view reference, std::string* why) const {
  return look_up(base_of(node), reference, why);
}

Node* Document::look_up(const std::string& from, std::string_view reference, std::string* why) const {
  const auto refuse = [&](std::string text) {
    if (why != nullptr) *why = std::move(text);
    return nullptr;
  };
  const auto [address, fragment] = split(reference);
  const std::string base = absolute_of(from, address);
  const auto known = ids_.find(base);
  if (known == ids_.end()) {
    if (has_scheme(base) || base.starts_with("//")) {
      return refuse(
          "'" + std::string(reference) +
          "' is remote: nothing is read from a network; save the file beside this one, and refer to the saved file");
    }
    if (address.starts_with('/')) {
      return refuse("'" + std::string(reference) + "' is an absolute path: write it relative to this file");
    }
    return nullptr;  // The file could not be read; load() has reported the error.
  }
  if (!fragment.empty() && !fragment.starts_with('/')) {
    const auto anchor = anchors_.find(base + '#' + std::string(fragment));
    if (anchor != anchors_.end()) return anchor->second;
    return refuse("'" + std::string(reference) + "' leads nowhere: no schema has the $anchor '" +
                  std::string(fragment) + "'");
  }
  std::string told;
  Node* const found = by_fragment(*known->second, fragment, &told);
  if (found == nullptr) return refuse("'" + std::string(reference) + "' leads nowhere: " + told);
  return found;
}

Node* Document::by_fragment(Node& root, std::string_view fragment, std::string* why) const {
  Node* at = &root;
  while (!fragment.empty()) {
    fragment.remove_prefix(1);
    const std::string_view raw = fragment.substr(0, fragment.find('/'));
    fragment.remove_prefix(raw.size());
    Arena arena;
    const auto decoded = uri::percent_decode(raw, arena);
    if (!decoded) {
      *why = "'" + std::string(raw) + "' has a '%' that is not followed by two hexadecimal digits";
      return nullptr;
    }
    std::string key;
    for (std::size_t i = 0; i < decoded->size(); ++i) {
      const char c = (*decoded)[i];
      const char next = i + 1 < decoded->size() ? (*decoded)[i + 1] : '\0';
      if (c == '~' && next != '0' && next != '1') {
        *why = "'" + std::string(raw) + "' has a '~' that is neither ~0 nor ~1";
        return nullptr;
      }
      key += c != '~' ? c : next == '0' ? '~' : '/';
      if (c == '~') ++i;
    }
    Node* next = nullptr;
    if (at->is(Kind::Map)) {
      next = at->find(key);
    } else if (at->is(Kind::List)) {
      const bool is_index = !key.empty() && key.size() < 8 && key.find_first_not_of("0123456789") == key.npos &&
                            (key == "0" || key[0] != '0');
      const std::size_t index = is_index ? std::stoul(key) : at->children.size();
      if (index < at->children.size()) next = at->children[index];
    }
    if (next == nullptr) {
      std::vector<std::string_view> others;
      if (at->is(Kind::Map) && at->children.size() <= candidates_max) {
        for (const Node* child : at->children) others.push_back(child->key);
      }
      *why = "'" + key + "' is not in " + pointer_of(*at) + suggestion(key, others);
      return nullptr;
    }
    at = next;
  }
  return at;
}

}  // namespace keel::openapi
