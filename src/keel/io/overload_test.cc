// When there is more than fits: completions, buffers, descriptors, bytes that nobody reads; and peers that end within a
// message. On every engine, and on io_uring with rings so small that they overflow all the time.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keel/io/internal/engine_testing.h"

namespace keel::io::overload_test {
namespace {

using testing::Accepter;
using testing::Connecter;
using testing::NoDescriptors;
using testing::pattern;
using testing::Reader;
using testing::Sender;
using testing::unfinished;
using testing::Which;

class OverloadTest : public testing::EngineTest {
 protected:
  void listen(const ListenOptions& options = {}) {
    EngineTest::listen(accepter_, Address::parse("127.0.0.1:0").value(), options);
  }
  std::vector<Pair> pairs(std::size_t count) {
    std::vector<Pair> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(pair(accepter_));
    return made;
  }
  static std::size_t resident_kb() {
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    unsigned long size = 0, pages = 0;
    EXPECT_EQ(std::fscanf(file, "%lu %lu", &size, &pages), 2);
    std::fclose(file);
    return pages * 4;
  }

  Accepter accepter_;
};

TEST_P(OverloadTest, more_completions_than_the_queue_has_room_for_are_all_delivered) {
  listen();
  const std::vector<Pair> made = pairs(150);
  std::deque<Reader> readers(made.size());
  std::deque<Sender> senders(made.size());
  const std::string text = pattern(3000);
  const std::uint64_t calls = engine().system_calls();
  for (int round = 1; round <= 5; ++round) {
    // One harvest has all of them: submitted in one turn, and all of it is there.
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (round == 1) read(readers[i], made[i].server);
      send(senders[i], made[i].client, text);
    }
    const std::size_t size = static_cast<std::size_t>(round) * text.size();
    ASSERT_TRUE(until([&] {
      return std::ranges::all_of(readers, [&](const Reader& each) { return each.got.size() == size; }) &&
             std::ranges::all_of(senders, [&](const Sender& each) { return each.final == 3000; });
    }));
  }

  for (const Reader& each : readers) ASSERT_TRUE(each.got == text + text + text + text + text);
  // A full queue is no reason to ask again and again: four a message would do for the smallest.
  EXPECT_LT(engine().system_calls() - calls, 5 * 4 * made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    engine().close(made[i].client);
    end_and_close(readers[i]);
  }
  end_and_close(accepter_);
}

// Each place of a ring has had an operation that says nothing when it succeeds; what has the place next is no such one.
TEST_P(OverloadTest, what_follows_more_closes_than_the_queue_has_room_for_completes) {
  listen();
  const Pair made = pair(accepter_);
  for (int i = 0; i < 8; ++i) engine().close(engine().open_stream(AF_INET).value());
  settle();

  Sender sender;
  Reader reader;
  read(reader, made.server);
  send(sender, made.client, "x");
  EXPECT_TRUE(until([&] { return sender.final == 1 && reader.got == "x"; }, 5_s)) << sender.final << reader.got;

  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter_);
}

TEST_P(OverloadTest, more_that_arrives_at_once_than_there_are_buffers_is_all_delivered) {
  // 20 MiB wait in the kernel when the receives begin; io_uring has 16 MiB of buffers.
  listen({.send_buffer_bytes = 1 << 20, .receive_buffer_bytes = 1 << 20});
  const std::vector<Pair> made = pairs(40);
  const std::string text = pattern(512 * 1024);
  std::deque<Sender> senders(made.size());
  std::deque<Reader> readers(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) send(senders[i], made[i].client, text);
  settle();

  for (std::size_t i = 0; i < made.size(); ++i) read(readers[i], made[i].server);
  EXPECT_TRUE(until([&] {
    return std::ranges::all_of(readers, [&](const Reader& each) { return each.got.size() == text.size(); });
  }));
  EXPECT_TRUE(
      until([&] { return std::ranges::all_of(senders, [](const Sender& each) { return each.final != unfinished; }); }));

  for (const Reader& each : readers) EXPECT_TRUE(each.got == text);
  for (std::size_t i = 0; i < made.size(); ++i) {
    engine().close(made[i].client);
    end_and_close(readers[i]);
  }
  end_and_close(accepter_);
}

TEST_P(OverloadTest, more_is_held_than_there_are_buffers_and_others_still_receive) {
  listen();
  const std::vector<Pair> made = pairs(2);
  Reader holder, other;
  holder.holds = true;
  read(holder, made[0].server);
  read(other, made[1].server);
  Sender sender;
  std::string all;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::string text = std::to_string(i) + ";";
    send(sender, made[0].client, text);
    all += text;
    ASSERT_TRUE(until([&] { return holder.got.size() == all.size() && sender.final != unfinished; }));
  }
  send(sender, made[1].client, "me too");
  EXPECT_TRUE(until([&] { return other.got == "me too" && sender.final != unfinished; }));

  std::string held;
  for (const Held& each : holder.held) held.append(each.data, each.size);
  EXPECT_TRUE(held == all);
  for (const Held& each : holder.held) engine().release(each);
  holder.held.clear();
  // What was given back is used again, by both.
  holder.holds = false;
  const std::string much = pattern(1 << 20);
  for (Reader* each : {&holder, &other}) {
    each->got.clear();
    send(sender, made[each == &holder ? 0 : 1].client, much);
    EXPECT_TRUE(until([&] { return each->got.size() == much.size() && sender.final != unfinished; }));
    EXPECT_TRUE(each->got == much);
  }
  for (const Pair& each : made) engine().close(each.client);
  end_and_close(holder);
  end_and_close(other);
  end_and_close(accepter_);
}

TEST_P(OverloadTest, peers_that_do_not_read_cost_no_memory_and_get_everything_later) {
  constexpr std::size_t peers = 64;
  listen({.send_buffer_bytes = 64 * 1024, .receive_buffer_bytes = 64 * 1024});
  const std::vector<Pair> made = pairs(peers);
  const std::string text = pattern(8 << 20);
  std::deque<Sender> senders(peers);
  std::deque<Reader> readers(peers);
  for (std::size_t i = 0; i < peers; ++i) {
    read(readers[i], made[i].client);
    engine().pause(readers[i]);
  }
  const std::size_t before = resident_kb();

  for (std::size_t i = 0; i < peers; ++i) send(senders[i], made[i].server, text);
  settle();
  if (is_sim()) until([] { return false; }, 20_ms);

  // 512 MiB want to be sent.
  for (const Sender& each : senders) EXPECT_EQ(each.final, unfinished);
  // The kernel's memory is not ours; the simulated network's is.
  if (!is_sim()) {
    EXPECT_LT(resident_kb() - std::min(before, resident_kb()), 64u * 1024);
  }
  for (std::size_t i = 0; i < peers; ++i) {
    engine().resume(readers[i]);
    // One after the other, so that the test itself needs no 512 MiB.
    ASSERT_TRUE(until([&] { return readers[i].got.size() == text.size() && senders[i].final != unfinished; }));
    EXPECT_TRUE(readers[i].got == text);
    readers[i].got = {};
    if (i == 7) break;  // What holds for these holds for all.
  }
  for (std::size_t i = 0; i < peers; ++i) {
    end_and_close(senders[i]);
    end_and_close(readers[i]);
  }
  end_and_close(accepter_);
}

TEST_P(OverloadTest, a_reset_after_any_number_of_bytes_is_told_behind_what_came) {
  listen();
  const std::string message = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
  for (std::size_t size = 0; size <= message.size(); ++size) {
    const Pair made = pairs(1).front();
    Reader reader;
    read(reader, made.server);
    // It has not read this, and closes: that is a reset.
    Sender unread, sender;
    send(unread, made.server, "unread");
    if (size != 0) send(sender, made.client, std::string_view(message).substr(0, size));
    ASSERT_TRUE(until([&] { return unread.final != unfinished && (size == 0 || sender.final != unfinished); }));
    if (is_sim()) until([] { return false; }, 50_us);  // It has arrived.
    const bool apart = size % 2 == 0;                  // Else bytes and reset come in one event.
    if (apart) settle();
    engine().close(made.client);
    ASSERT_TRUE(until([&] { return reader.final != unfinished; }));

    EXPECT_EQ(reader.final, -ECONNRESET) << size;
    // In the simulation a reset may overtake the bytes, as in a network.
    EXPECT_TRUE(is_sim() && !apart ? message.starts_with(reader.got) : reader.got == message.substr(0, size)) << size;
    // Nothing more goes out, and the next connection is not concerned.
    Sender after;
    send(after, made.server, "after");
    ASSERT_TRUE(until([&] { return after.final != unfinished; }));
    EXPECT_EQ(after.final, -EPIPE);
    engine().close(made.server);
  }
  end_and_close(accepter_);
}

TEST_P(OverloadTest, an_end_within_a_message_comes_behind_its_bytes) {
  listen();
  const std::string message = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
  for (std::size_t size = 0; size <= message.size(); ++size) {
    const Pair made = pairs(1).front();
    Sender sender;
    if (size != 0) send(sender, made.client, std::string_view(message).substr(0, size));
    ASSERT_TRUE(until([&] { return size == 0 || sender.final != unfinished; }));
    engine().close(made.client);
    if (size % 2 == 0) settle();  // Data and end come in one event, or the data first.
    Reader reader;
    read(reader, made.server);
    ASSERT_TRUE(until([&] { return reader.final != unfinished; }));

    EXPECT_EQ(reader.final, 0);
    EXPECT_EQ(reader.got, message.substr(0, size));
    engine().close(made.server);
  }
  end_and_close(accepter_);
}

TEST_P(OverloadTest, without_descriptors_sockets_are_refused_and_what_is_open_works) {
  if (is_sim()) GTEST_SKIP() << "the simulation has as many as one wants";
  listen();
  const Pair made = pairs(1).front();
  settle();
  std::optional<NoDescriptors> none(std::in_place);

  const auto stream = engine().open_stream(AF_INET);
  const auto listener = engine().open_listener(Address::parse("127.0.0.1:0").value(), {});
  Reader reader;
  Sender sender;
  read(reader, made.server);
  send(sender, made.client, "works");
  const bool works = until([&] { return reader.got == "works" && sender.final == 5; });
  none.reset();

  EXPECT_TRUE(works);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::ResourceExhausted);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code(), Code::ResourceExhausted);
  const Pair again = pairs(1).front();
  engine().close(again.client);
  engine().close(again.server);
  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter_);
}

// What was used lately is still in the processor's caches.
TEST_P(OverloadTest, after_a_burst_few_buffers_are_used_again) {
  if (is_sim()) GTEST_SKIP() << "each delivery of the simulation has a buffer of its own";
  listen({.send_buffer_bytes = 1 << 20, .receive_buffer_bytes = 1 << 20});
  const std::vector<Pair> made = pairs(40);
  struct Where : Receive {
    Where()
        : Receive([](Op& op) noexcept {
            auto& self = static_cast<Where&>(op);
            if (op.result <= 0) return;
            self.got += static_cast<std::size_t>(op.result);
            self.at->insert(self.data);
          }) {}
    std::size_t got = 0;
    std::set<const char*>* at = nullptr;
  };
  std::set<const char*> at;
  std::deque<Where> readers(made.size());
  std::deque<Sender> senders(made.size());
  const std::string text = pattern(512 * 1024);
  for (std::size_t i = 0; i < made.size(); ++i) send(senders[i], made[i].client, text);
  settle();
  for (std::size_t i = 0; i < made.size(); ++i) {
    readers[i].at = &at;
    readers[i].fd = made[i].server;
    engine().submit(readers[i]);
  }
  ASSERT_TRUE(until([&] {
    return std::ranges::all_of(readers, [&](const Where& each) { return each.got == text.size(); }) &&
           std::ranges::all_of(senders, [](const Sender& each) { return each.is_idle(); });
  }));
  const std::size_t in_burst = at.size();
  const auto one = [&](std::size_t i) {
    Where& reader = readers[i % readers.size()];
    const std::size_t before = reader.got;
    send(senders[0], made[i % made.size()].client, "x");
    return until([&] { return reader.got != before && senders[0].final != unfinished; });
  };
  for (std::size_t i = 0; i < 7000; ++i) ASSERT_TRUE(one(i));
  at.clear();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_TRUE(one(i));

  EXPECT_TRUE(GetParam() != Which::Uring || in_burst > 500) << in_burst;
  EXPECT_LE(at.size(), 200u);
  for (std::size_t i = 0; i < made.size(); ++i) {
    engine().close(made[i].client);
    end_and_close(readers[i]);
  }
  end_and_close(accepter_);
}

INSTANTIATE_TEST_SUITE_P(Io, OverloadTest,
                         ::testing::Values(Which::Uring, Which::UringWithTinyRings, Which::Epoll, Which::Sim),
                         testing::name_of_engine);

}  // namespace
}  // namespace keel::io::overload_test
