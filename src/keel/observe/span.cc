#include "keel/observe/span.h"

#include "keel/base/host.h"

namespace keel {

Instant internal::precise_now() noexcept { return Host::current().precise_now(); }

}  // namespace keel
