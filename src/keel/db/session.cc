#include "keel/db/session.h"

namespace keel::db {

Session::~Session() = default;

}  // namespace keel::db
