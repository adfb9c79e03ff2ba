// Shared by the tests of engines: operations that record their results, and connected sockets.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/io/testing/loop_test.h"

namespace keel::io::testing {

inline constexpr int unfinished = 1 << 30;  // Stands for a result while there is no final result yet.
inline bool inside_submit = false;          // True inside submit(), where done() must not be called.

struct Accepter : Accept {
  Accepter() : Accept(&on_done) {}
  static void on_done(Op& op) noexcept {
    EXPECT_FALSE(inside_submit);
    auto& self = static_cast<Accepter&>(op);
    if (op.result >= 0) self.fds.push_back(op.result);
    if (!op.more) self.final = op.result;
  }
  std::vector<int> fds;
  int final = unfinished;
};

struct Reader : Receive {
  Reader() : Receive(&on_done) {}
  static void on_done(Op& op) noexcept {
    EXPECT_FALSE(inside_submit);
    auto& self = static_cast<Reader&>(op);
    EXPECT_FALSE(self.paused && op.result > 0);
    if (op.result > 0) {
      self.got.append(self.data, static_cast<std::size_t>(op.result));
      if (self.holds) self.held.push_back(self.engine->hold(self));
    }
    if (!op.more) self.final = op.result;
  }
  std::string got;
  int final = unfinished;
  bool holds = false;
  Engine* engine = nullptr;
  std::vector<Held> held;
};

// An operation with one result.
template <class Operation>
struct Once : Operation {
  Once() : Operation(&on_done) {}
  static void on_done(Op& op) noexcept {
    EXPECT_FALSE(inside_submit);
    static_cast<Once&>(static_cast<Operation&>(op)).final = op.result;
  }
  int final = unfinished;
};
using Sender = Once<SendPart>;
using Connecter = Once<Connect>;

class EngineTest : public LoopTest {
 protected:
  bool submit(Op& op) {
    inside_submit = true;
    const bool complete = engine().submit(op);
    inside_submit = false;
    return complete;
  }
  template <class Operation>
  void begin(Once<Operation>& op) {
    op.final = unfinished;
    if (submit(op)) op.final = op.result;
  }
  void send(Sender& op, int fd) {
    op.fd = fd;
    begin(op);
  }
  void send(Sender& op, int fd, std::string_view bytes) {
    op.set(bytes.data(), bytes.size());
    send(op, fd);
  }
  void connect(Connecter& op, const Address& to) {
    op.fd = engine().open_stream(to.family()).value();
    op.address = to;
    begin(op);
  }
  void read(Reader& op, int fd) {
    op.fd = fd;
    op.engine = &engine();
    op.final = unfinished;
    submit(op);
  }

  // Opens a listener at `at`, by default on any port, and submits `accepter` for it.
  void listen(Accepter& accepter, const Address& at = Address::parse("127.0.0.1:0").value(),
              const ListenOptions& options = {}) {
    auto fd = engine().open_listener(at, options);
    ASSERT_TRUE(fd) << fd.error().describe();
    accepter.fd = *fd;
    submit(accepter);
  }
  struct Pair {
    int client = -1;
    int server = -1;
  };
  Pair pair(Accepter& accepter) {
    Connecter connecter;
    const std::size_t before = accepter.fds.size();
    connect(connecter, engine().local_address(accepter.fd));
    EXPECT_TRUE(until([&] { return connecter.final != unfinished && accepter.fds.size() > before; }));
    EXPECT_EQ(connecter.final, 0);
    return {connecter.fd, accepter.fds.back()};
  }
  template <class Operation>
  void end(Operation& op) {
    engine().cancel(op);
    EXPECT_TRUE(until([&] { return op.is_idle(); }));
  }
  template <class Operation>
  void end_and_close(Operation& op) {
    end(op);
    engine().close(op.fd);
  }
};

}  // namespace keel::io::testing
