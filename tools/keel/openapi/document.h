// openapi/document.h — an OpenAPI document of one or several files, with its references resolved.
//
//   Problems problems;
//   const auto document = Document::load("shop.yaml", read_file, problems);   // null when a file cannot be read
//   const Node* pet = document->resolve(schema);                              // what {$ref: …} stands for
//
// Versions:   OpenAPI 3.0 and 3.1. A 3.2 document is loaded as 3.1, so that an error names each field that is new in
//             3.2.
// References: "#/components/schemas/Pet", "other.yaml" and "other.yaml#/Pet" are relative to the file, or to the `$id`
//             of a schema around them; "#name" is an `$anchor`; a URI refers to the schema in these files that has this
//             `$id`. Circular references are followed like all other references. Nothing is fetched: a remote reference
//             is an error. All files are read by load().
// Bounds:     1,000 files, 64 MiB for all files together, and the bounds of source.h. Each reference is resolved only
//             once.
// Errors:     in Problems. resolve() returns null for a reference without a target, which is also a problem.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "keel/base/result.h"
#include "openapi/node.h"
#include "openapi/problems.h"

namespace keel::openapi {

enum class Version : std::uint8_t { V30, V31 };

// Returns the text of a file, or the reason why it cannot be read.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;
// Reads a regular file of at most 32 MiB from the file system.
Result<std::string> read_regular_file(const std::string& path);

class Document {
 public:
  static std::unique_ptr<Document> load(const std::string& path, const ReadFile& read, Problems& problems);

  Version version() const noexcept { return version_; }
  // The version as written in the document, such as "3.1.0".
  std::string_view version_text() const noexcept { return version_text_; }
  bool is_32() const noexcept { return version_text_.starts_with("3.2"); }
  const Node& root() const noexcept { return *root_; }
  Node& root() noexcept { return *root_; }
  Store& store() noexcept { return store_; }
  std::size_t files() const noexcept { return files_.size(); }
  // The files that have been read, sorted by path.
  std::vector<std::string> paths() const;
  std::size_t nodes() const noexcept { return store_.size(); }

  // The direct target of the node's `$ref`; null when the node has no `$ref`, or the `$ref` has no target.
  Node* target(const Node& node) const noexcept;
  // The nodes that have a `$ref`, in the order in which they were read.
  std::vector<Node*> references() const;
  // Makes `target` the target of the node's `$ref`.
  void redirect(const Node& reference, Node& target) { targets_[&reference] = &target; }
  // Follows a chain of `$ref`s: returns the target of the last `$ref`, or the node itself if it has no `$ref`. Returns
  // null if a `$ref` has no target or if the `$ref`s form a circle.
  Node* resolve(Node& node) const noexcept;
  const Node* resolve(const Node& node) const noexcept { return resolve(const_cast<Node&>(node)); }
  // Like resolve(), but for a member of the node; null if there is no such member.
  const Node* resolve(const Node& node, std::string_view name) const noexcept {
    const Node* const child = node.find(name);
    return child == nullptr ? nullptr : resolve(*child);
  }
  // The target of the reference `reference`, as if the reference were in `node`; if there is no target, returns null
  // and sets `why` to the reason.
  Node* look_up(const Node& node, std::string_view reference, std::string* why = nullptr) const;

 private:
  struct Reference {
    Node* node;  // The node that has the `$ref`.
    const std::string* base;
    std::string_view text;
  };

  Document() = default;
  Node* read(const std::string& path, const ReadFile& read_file, Problems& problems);
  void resolve_all(Problems& problems);
  void index(Node& node, bool are_names, const std::string* base);
  std::string base_of(const Node& node) const;
  Node* look_up(const std::string& base, std::string_view reference, std::string* why) const;
  Node* by_fragment(Node& root, std::string_view fragment, std::string* why) const;

  Store store_;
  Node* root_ = nullptr;
  Version version_ = Version::V31;
  std::string_view version_text_;
  std::size_t bytes_ = 0;
  bool has_ids_ = false;
  // The root nodes of files by path; null for a file that cannot be read.
  std::unordered_map<std::string, Node*> files_;
  std::unordered_map<std::string, Node*> ids_;      // The nodes that have an `$id`, by absolute URI or path.
  std::unordered_map<std::string, Node*> anchors_;  // The schemas with an `$anchor`, by base address, '#' and name.
  std::unordered_map<const Node*, Node*> targets_;  // The target of each node that has a `$ref`.
  std::vector<Reference> references_;               // The references in all files that have been read.
};

}  // namespace keel::openapi
