#include "keel/db/session.h"

#include "keel/base/bug.h"

namespace keel::db {

Session::~Session() = default;

void Queries::is_moved_from(std::source_location place) {
  throw_bug("a Transaction is used after it was moved from", place);
}

}  // namespace keel::db
