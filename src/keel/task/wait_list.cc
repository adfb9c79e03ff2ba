#include "keel/task/wait_list.h"

namespace keel {

bool Waiting::wait_in(WaitList& list) noexcept {
  list_ = &list;
  list.list_.push_back(*this);
  ++list.size_;
  return false;
}

void Waiting::cancel(Leaf& leaf) noexcept {
  auto& waiting = static_cast<Waiting&>(leaf);
  waiting.unlink();
  if (waiting.list_ != nullptr) --waiting.list_->size_;
  waiting.cancelled_ = true;
  waiting.wake();
}

bool WaitList::wake_first() noexcept {
  Waiting* first = pop();
  if (first == nullptr) return false;
  wake(*first);
  return true;
}

void WaitList::wake_all() noexcept {
  List<Waiting> waking;
  waking.splice_back(list_);
  size_ = 0;
  waking.for_each([](Waiting& waiting) { waiting.list_ = nullptr; });
  // A woken task may run immediately and stop other waiting tasks, which then remove themselves from `waking`.
  while (Waiting* waiting = waking.pop_front()) wake(*waiting);
}

}  // namespace keel
