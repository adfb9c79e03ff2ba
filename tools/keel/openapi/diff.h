// openapi/diff.h — finds the changes between two versions of a document that clients can notice.
//
//   for (const Change& change : diff(*before, *after)) print(change.describe());
//
// A client sends requests that the old document allows, and expects the responses that the old document promises.
// Breaking: a request of the client may now be rejected (the change narrows a request), or the client may receive
//           something unknown (the change widens a response). Non-breaking: neither.
// Unclassified: the change may break only some clients, or the two schemas cannot be compared. For a webhook the
//               directions are reversed: the client receives the request, and sends the response.
//
// A change of a schema that several operations use is reported once for requests and once for responses, at the place
// of that schema. Changes of descriptions, examples, tags and extensions are not reported.
//
// Cost: each pair of schemas is compared at most once for each direction.

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
  const Node* old_place = nullptr;  // Null if the old document does not have the changed part.
  const Node* new_place = nullptr;

  // "new.yaml:7:3: breaking: the operation needs a body now (#/paths/~1pets/post/requestBody) [request-body-required]".
  // The place is in the new document if `new_place` is set, otherwise in the old document.
  std::string describe() const;
};

// Both documents must have been loaded without errors; their schemas are normalised. Breaking changes come first;
// within each kind, changes are sorted by place.
std::vector<Change> diff(Document& before, Document& after);

}  // namespace keel::openapi
