#include "keel/task/group.h"

#include "keel/observe/unhandled.h"

namespace keel::internal {

void drop_branch_error(const Error& error) noexcept {
  if (error.is_bug())
    report_unhandled("a branch of all() or any() ended with a bug after the result was decided", error);
}

}  // namespace keel::internal
