// keel/base/list.h — intrusive lists: the link lives in the element, so linking never allocates.
//
// List<T> (T derives from Link) is doubly linked: push_back, pop_front, remove in O(1). An element can be in one list
// at a time, and must be unlinked before it is destroyed (checked in debug builds).
//
// Threads:   one.
// Ownership: none.

#pragma once

#include "keel/base/check.h"

namespace keel {

struct Link {
  Link* prev = nullptr;
  Link* next = nullptr;

  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { KEEL_DCHECK(!linked(), "an element must leave its list before it is destroyed"); }

  bool linked() const noexcept { return next != nullptr; }
  void unlink() noexcept {
    prev->next = next;
    next->prev = prev;
    prev = next = nullptr;
  }
};

// A doubly linked list of elements that derive from Link; it does not own them.
template <class T>
class List {
 public:
  List() { head_.prev = head_.next = &head_; }
  ~List() {
    KEEL_DCHECK(empty(), "a list must be empty when it is destroyed");
    head_.prev = head_.next = nullptr;
  }

  bool empty() const noexcept { return head_.next == &head_; }
  T& front() noexcept { return static_cast<T&>(*head_.next); }
  void push_back(T& element) noexcept { insert(*head_.prev, element); }
  void push_front(T& element) noexcept { insert(head_, element); }
  T* pop_front() noexcept {
    if (empty()) return nullptr;
    Link* first = head_.next;
    first->unlink();
    return static_cast<T*>(first);
  }
  void remove(T& element) noexcept { static_cast<Link&>(element).unlink(); }
  // Moves all elements of `other` to the end of this list.
  void splice_back(List& other) noexcept {
    while (T* element = other.pop_front()) push_back(*element);
  }
  // `f` may unlink the element that is passed to it, but no other element.
  template <class F>
  void for_each(F&& f) {
    for (Link* at = head_.next; at != &head_;) {
      Link* next = at->next;
      f(static_cast<T&>(*at));
      at = next;
    }
  }

 private:
  static void insert(Link& after, Link& element) noexcept {
    KEEL_DCHECK(!element.linked(), "an element can be in only one list at a time");
    element.prev = &after;
    element.next = after.next;
    after.next->prev = &element;
    after.next = &element;
  }
  mutable Link head_;
};

}  // namespace keel
