#include "keel/task/completion.h"

#include "keel/base/bug.h"

namespace keel {

bool CompletionCore::begin(Submission& submission) {
  if (submission.is_done()) return true;
  home_ = Executor::current();
  KEEL_EXPECT_AT(home_ != nullptr && home_->is_serial(),
                 "a submitted job can be awaited only on a serial executor, such as a loop: on a thread pool call "
                 "get() of its handle",
                 place());
  submission_ = &submission;
  return !submission.listen(*this);
}

void CompletionCore::on_done(Listener& listener) noexcept {
  auto& self = static_cast<CompletionCore&>(listener);
  // This object may be destroyed as soon as arrival_ is posted.
  self.home_->post(self.arrival_);
}

void CompletionCore::cancel_submission(Leaf& leaf) noexcept {
  // If the job is running, the task waits for it; in all other states this listener is notified immediately.
  static_cast<CompletionCore&>(leaf).submission_->cancel();
}

}  // namespace keel
