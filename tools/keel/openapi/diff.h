// openapi/diff.h — finds the changes between two versions of a document that clients can notice.
//
//   for (const Change& change : diff(*before, *after)) print(change.describe());
//
// A client sends requests that the old document allows, and expects the responses that it promises. Breaking: what the
// client sends may now be rejected (a request is narrowed), or it may receive something unknown (a response is
// widened). Non-breaking: neither.
// Unclassified: the change may break some clients but not others, or the two schemas cannot be compared. For a webhook
// the directions are reversed: the client receives its request, and sends its response.
//
// A change of a schema that several operations use counts once for requests and once for responses, at the place of
// that schema. Changes of descriptions, examples, tags and extensions do not count.
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
  const Node* old_place = nullptr;  // Null: this document does not have the changed part.
  const Node* new_place = nullptr;

  // "new.yaml:7:3: breaking: the operation needs a body now (#/paths/~1pets/post/requestBody) [request-body-required]".
  // The place in the new document, if there is one.
  std::string describe() const;
};

// Both documents must have been loaded without errors; their schemas are normalised. Breaking changes come first, each
// kind sorted by place.
std::vector<Change> diff(Document& before, Document& after);

}  // namespace keel::openapi
