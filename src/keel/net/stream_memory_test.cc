// What streams cost in memory: nothing per message in steady state, little per idle connection.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "keel/base/pool.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/net/internal/net_test.h"
#include "keel/net/stream.h"
#include "keel/task/scope.h"

namespace keel::stream_memory_test {
namespace {

using Memory = internal::NetTest;
// The simulation allocates freely.
INSTANTIATE_TEST_SUITE_P(, Memory,
                         ::testing::Values(internal::Which::Uring, internal::Which::Epoll, internal::Which::UringUnix,
                                           internal::Which::EpollUnix),
                         internal::name_of_engine);

// A message a round, in each way of reading and writing; notes what the second half has allocated.
Task<> talk(Stream& from, Stream& to, int rounds, std::size_t& allocated) {
  constexpr std::string_view words[] = {"some ", "words\n"};
  std::size_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 2) before = internal::allocations();
    co_await from.write("first line\nsecond ");
    Chunk line = co_await to.read_until("\n", 100);
    EXPECT_EQ(line, "first line\n");
    co_await from.write("line\nexact");
    line = co_await to.read_until("\n", 100);
    EXPECT_EQ(line, "second line\n");
    char five[5];
    co_await to.read_exact(five);
    co_await from.write(words);
    Chunk chunk = co_await to.receive();
    EXPECT_EQ(chunk, "some words\n");
  }
  allocated = internal::allocations() - before;
}

TEST_P(Memory, nothing_is_allocated_per_message) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  auto [client, server] = pair();
  std::size_t allocated = 1;
  ASSERT_TRUE(run(talk(client, server, 400, allocated)));
  EXPECT_EQ(allocated, 0u);
  const std::size_t before = internal::allocations();
  EXPECT_NE(std::string(100, 'x').c_str(), nullptr);
  EXPECT_GT(internal::allocations(), before);  // The counter counts.
}

Task<> accept_into(Listener& listener, std::vector<Stream>& streams) {
  while (streams.size() < streams.capacity()) streams.push_back(co_await listener.accept());
}

Task<std::string> first(Stream& stream) {
  Chunk chunk = co_await stream.receive();
  co_return std::string(chunk);
}
Task<> write_without_memory(Stream& stream, Result<>& refused) {
  pool_trim();
  const internal::WithoutMemory none;
  refused = co_await attempt(stream.write("lost"));
}

TEST_P(Memory, a_write_is_refused_where_there_is_no_memory_for_it_and_the_next_one_is_sent) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  auto [client, server] = pair();
  Result<> refused;

  ASSERT_TRUE(run(write_without_memory(server, refused)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(refused.error().errno_value(), ENOMEM);

  ASSERT_TRUE(run(internal::write(server, "sent")));
  EXPECT_EQ(*run(first(client)), "sent");
}

Task<Stream> accept_one(Listener& listener) { co_return co_await listener.accept(); }

TEST_P(Memory, an_accept_without_memory_for_its_connection_tries_again) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  Listener listener = listen();
  Stream before = *run(Stream::connect(listener.address()));
  ASSERT_TRUE(run(accept_one(listener)));
  Stream client = *run(Stream::connect(listener.address()));
  settle();  // The connection waits for an accept.
  Start<Stream> accepting;
  Task<Stream> task = accept_one(listener);
  {
    pool_trim();
    const internal::WithoutMemory none;
    EXPECT_FALSE(accepting.begin(std::move(task), [](StartCore&) noexcept {}));
  }

  ASSERT_TRUE(until([&] { return accepting.has_ended(); }));

  Result<Stream> accepted = accepting.take();
  ASSERT_TRUE(accepted) << accepted.error().describe();
  ASSERT_TRUE(run(internal::write(client, "sent")));
  EXPECT_EQ(*run(first(*accepted)), "sent");
}

// Both ends of each connection, armed to receive as a server's idle ones are; everything malloc has given is counted,
// the engine's share, too.
TEST_P(Memory, an_idle_connection_takes_half_a_kilobyte) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  constexpr std::size_t count = 100;
  Listener listener = listen();
  std::vector<Stream> accepted;
  std::vector<Stream> clients;
  accepted.reserve(count);
  clients.reserve(count);
  pool_trim();
  const std::size_t before = mallinfo2().uordblks;
  Start<void> accepting;
  ASSERT_FALSE(accepting.begin(accept_into(listener, accepted), [](StartCore&) noexcept {}));
  for (std::size_t i = 0; i < count; ++i) clients.push_back(*run(Stream::connect(listener.address())));
  ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  ASSERT_TRUE(accepting.take());
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(run(internal::write(clients[i], "a line and its end\n")));
    EXPECT_EQ(*run(first(accepted[i])), "a line and its end\n");
    EXPECT_FALSE(run(with_limit(first(accepted[i]), 100_us)));
    EXPECT_FALSE(run(with_limit(first(clients[i]), 100_us)));
  }
  settle();
  const std::size_t each = (mallinfo2().uordblks - before) / (2 * count);
  std::printf("%zu bytes per idle connection\n", each);
  RecordProperty("bytes_per_idle_connection", static_cast<int>(each));
  EXPECT_LE(each, 512u);
}

Task<> echo(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}
Task<> serve(Listener& listener) {
  Scope connections;
  while (true) connections.spawn(echo(co_await listener.accept()), OnError::Ignore);
}

// Numbered apart from those of the server, whose engine has a table by number.
int plain_socket(int family) {
  const int low = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int high = fcntl(low, F_DUPFD_CLOEXEC, 700);
  close(low);
  return high;
}

// What a server has of each: the stream, the task that waits for its next bytes, and the task's place in a scope. The
// peers are plain sockets.
TEST_P(Memory, an_idle_connection_with_its_task_takes_half_a_kilobyte) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  constexpr std::size_t count = 200;
  Listener listener = listen();
  const Address address = listener.address();
  std::vector<int> peers;
  peers.reserve(count);
  StopSource stop;
  Start<void> serving;
  pool_trim();
  const std::size_t before = mallinfo2().uordblks;
  ASSERT_FALSE(serving.begin(serve(listener), [](StartCore&) noexcept {}, {.stop = &stop}));
  for (std::size_t i = 0; i < count; ++i) {
    peers.push_back(plain_socket(address.family()));
    ASSERT_EQ(connect(peers.back(), address.system(), address.system_size()), 0);
    ASSERT_EQ(send(peers.back(), "idle", 4, MSG_NOSIGNAL), 4);
    char text[8];
    ASSERT_TRUE(until([&] { return recv(peers.back(), text, sizeof text, MSG_DONTWAIT) == 4; }));
  }
  settle();
  const std::size_t each = (mallinfo2().uordblks - before) / count;
  std::printf("%zu bytes per idle connection with its task\n", each);
  RecordProperty("bytes_per_idle_connection_with_task", static_cast<int>(each));
  EXPECT_LE(each, 512u);

  for (const int peer : peers) close(peer);
  stop.request_stop();
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
  EXPECT_EQ(serving.take().error().code(), Code::Cancelled);
}

}  // namespace
}  // namespace keel::stream_memory_test
