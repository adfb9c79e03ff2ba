// openapi/diff.h — what clients of a document notice of its next version.
//
//   for (const Change& change : diff(*before, *after)) print(change.describe());
//
// A client sends what the old document allows, and reads what it promises. Breaking: what it sends may be rejected now
// (a request is narrowed), or it may get what it does not know (a response is widened). Non-breaking: neither.
// Unclassified: that depends on the client, or cannot be said of the two schemas. A webhook is the other way round: its
// request is received, and its response sent.
//
// A change of a schema that several operations use is one change for requests and one for responses, at the place of
// that schema. Descriptions, examples, tags and extensions are no changes.
//
// Cost: each pair of schemas is compared once for each direction.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "openapi/document.h"

namespace keel::openapi {

struct Change {
  enum class Severity : std::uint8_t { Breaking, Unclassified, NonBreaking };

  Severity severity = Severity::Breaking;
  std::string rule;                 // "response-property-removed"
  std::string text;                 // One sentence.
  const Node* old_place = nullptr;  // Either may be null: it is not in that document.
  const Node* new_place = nullptr;

  // "new.yaml:7:3: breaking: the operation needs a body now (#/paths/~1pets/post/requestBody) [request-body-required]".
  // The place in the new document, where there is one.
  std::string describe() const;
};

// Both documents have been loaded without errors; their schemas are normalised. Breaking changes first, each kind by
// place.
std::vector<Change> diff(Document& before, Document& after);

}  // namespace keel::openapi
