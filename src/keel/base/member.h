// keel/base/member.h — a timer or an operation that is a member of an object and calls one of its methods.
//
//   class Connection {
//     void received();
//     Member<io::Receive, Connection, &Connection::received> receive_{*this};
//   };
//
// The constructor of Base takes a function pointer that is called with the Base; a Member passes a function that calls
// `method` on the owner. A Member refers to its owner, so neither of the two may be moved.
//
// Cost: one more pointer than Base, one indirect call.

#pragma once

namespace keel {

template <class Base, class Owner, auto method>
struct Member final : Base {
  explicit Member(Owner& o) noexcept
      : Base([](auto& base) noexcept { (static_cast<Member&>(base).owner.*method)(); }), owner(o) {}
  Owner& owner;
};

}  // namespace keel
