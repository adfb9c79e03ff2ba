// Stream::send_file on every engine, over TCP and Unix sockets, and that of blocking::Stream.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "keel/io/file.h"
#include "keel/io/testing/disk.h"
#include "keel/net/blocking/listener.h"
#include "keel/net/blocking/stream.h"
#include "keel/net/internal/net_test.h"

namespace keel::send_file_test {
namespace {

using internal::pattern;
void ignore(StartCore&) noexcept {}

class SendFiles : public internal::NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    if (loop_ == nullptr) return;
    std::string made = is_sim() ? "/data" : (std::filesystem::temp_directory_path() / "keel-send-XXXXXX").string();
    ASSERT_TRUE(is_sim() || ::mkdtemp(made.data()) != nullptr);
    folder_ = made;
    ASSERT_TRUE(run(write_whole(path(), text_)));
    ASSERT_TRUE(run(open(path())));
    connect();
  }
  // With buffers much smaller than the file, so that it waits for a peer that does not read.
  void connect() {
    pair_.emplace(pair());
    EXPECT_TRUE(pair_->server.set_options({.send_buffer_bytes = 64 * 1024}));
    EXPECT_TRUE(pair_->client.set_options({.receive_buffer_bytes = 64 * 1024}));
  }
  void TearDown() override {
    if (reading_.is_running()) {
      pair_->server.shutdown();
      EXPECT_TRUE(until([&] { return reading_.has_ended(); }));
    }
    pair_.reset();
    file_.reset();
    NetTest::TearDown();
    std::error_code ignored;
    if (!is_sim() && !folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  std::string path() const { return folder_ + "/file"; }
  Task<> open(std::string of, File::Mode mode = File::Mode::Write) { file_.emplace(co_await File::open(of, mode)); }
  Task<> send(std::uint64_t offset, std::uint64_t bytes) { co_await pair_->server.send_file(*file_, offset, bytes); }
  static Task<> send_to(Stream& stream, File& file, std::size_t bytes) { co_await stream.send_file(file, 0, bytes); }
  Task<> cut(std::uint64_t size) { co_await file_->truncate(size); }
  static Task<> read_all(Stream& stream, std::string& into) {
    while (true) {
      Chunk chunk = co_await stream.receive();
      if (chunk.empty()) co_return;
      into += chunk;
    }
  }
  void read() { ASSERT_FALSE(reading_.begin(read_all(pair_->client, got_), &ignore)); }
  // What came, when nothing more will.
  const std::string& whole() {
    pair_->server.shutdown_write();
    EXPECT_TRUE(until([&] { return reading_.has_ended(); }));
    return got_;
  }

  const std::string text_ = pattern(3 * 1024 * 1024 + 77);
  std::string folder_;
  std::optional<File> file_;
  std::optional<Pair> pair_;
  Start<void> reading_;
  std::string got_;
};
INSTANTIATE_TEST_SUITE_P(, SendFiles, internal::every_kind(), internal::name_of_engine);

TEST_P(SendFiles, a_whole_file_and_parts_of_it_come_in_order_between_writes) {
  read();
  ASSERT_TRUE(run(internal::write(pair_->server, "before")));
  ASSERT_TRUE(run(send(0, text_.size())));
  ASSERT_TRUE(run(send(1000, 17)));
  ASSERT_TRUE(run(send(text_.size() - 5, 5)));
  ASSERT_TRUE(run(internal::write(pair_->server, "after")));
  EXPECT_TRUE(whole() == "before" + text_ + text_.substr(1000, 17) + text_.substr(text_.size() - 5) + "after");
}

TEST_P(SendFiles, nothing_is_sent_of_nothing) {
  read();
  EXPECT_TRUE(run(send(0, 0)));
  EXPECT_TRUE(run(send(text_.size() + 10, 0)));
  EXPECT_EQ(whole(), "");
}

TEST_P(SendFiles, a_file_that_ends_before_says_after_how_many_bytes) {
  read();
  const Result<> late = run(send(text_.size() - 10, 11));
  const Result<> beyond = run(send(text_.size() + 1, 1));

  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::OutOfRange);
  EXPECT_NE(late.error().describe().find("10 of 11 bytes"), std::string::npos) << late.error().describe();
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code(), Code::OutOfRange);
  EXPECT_TRUE(whole() == text_.substr(text_.size() - 10));
}

TEST_P(SendFiles, a_file_that_is_cut_while_it_is_sent_ends_there) {
  Start<void> sending;
  ASSERT_FALSE(sending.begin(send(0, text_.size()), &ignore));
  settle();  // The peer does not read: a part has left.
  ASSERT_FALSE(sending.has_ended());
  ASSERT_TRUE(run(cut(text_.size() - 1)));

  read();
  ASSERT_TRUE(until([&] { return sending.has_ended(); }));
  const Result<> ended = sending.take();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::OutOfRange);
  EXPECT_TRUE(whole() == text_.substr(0, text_.size() - 1));
}

TEST_P(SendFiles, a_slow_reader_gets_all_of_it_and_reading_goes_on_beside) {
  Start<void> sending;
  ASSERT_FALSE(sending.begin(send(0, text_.size()), &ignore));
  Start<std::size_t> receiving;
  ASSERT_FALSE(receiving.begin(read_count(pair_->server, 4), &ignore));
  ASSERT_TRUE(run(internal::write(pair_->client, "ping")));
  ASSERT_TRUE(until([&] { return receiving.has_ended(); }));
  EXPECT_EQ(*receiving.take(), 4u);
  EXPECT_FALSE(sending.has_ended());

  read();
  ASSERT_TRUE(until([&] { return sending.has_ended(); }));
  EXPECT_TRUE(sending.take());
  EXPECT_TRUE(whole() == text_);
}

TEST_P(SendFiles, a_peer_that_goes_and_a_shutdown_end_it) {
  Start<void> sending;
  ASSERT_FALSE(sending.begin(send(0, text_.size()), &ignore));
  settle();
  pair_->client.close();
  ASSERT_TRUE(until([&] { return sending.has_ended(); }));
  EXPECT_EQ(sending.take().error().code(), Code::Unavailable);

  connect();
  ASSERT_FALSE(sending.begin(send(0, text_.size()), &ignore));
  settle();
  pair_->server.shutdown();
  ASSERT_TRUE(until([&] { return sending.has_ended(); }));
  EXPECT_EQ(sending.take().error().errno_value(), EPIPE);
}

TEST_P(SendFiles, a_pipe_and_a_folder_are_refused) {
  if (is_sim()) GTEST_SKIP() << "the simulation has none to open";
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  ASSERT_TRUE(run(open(folder_ + "/pipe")));
  EXPECT_EQ(run(send(0, 10)).error().code(), Code::InvalidArgument);
  ASSERT_TRUE(run(open(folder_, File::Mode::Read)));
  EXPECT_EQ(run(send(0, 10)).error().code(), Code::InvalidArgument);
  ASSERT_TRUE(run(internal::write(pair_->server, "the stream is as it was")));
}

TEST_P(SendFiles, many_at_once_take_turns) {
  constexpr std::size_t count = 8;
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < count; ++i) pairs.push_back(pair());
  std::vector<Start<void>> sending(count);
  std::vector<Start<std::size_t>> reading(count);
  for (std::size_t i = 0; i < count; ++i) {
    sending[i].begin(send_to(pairs[i].server, *file_, text_.size()), &ignore);
    reading[i].begin(read_count(pairs[i].client, text_.size()), &ignore);
  }
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(until([&] { return sending[i].has_ended() && reading[i].has_ended(); }));
    EXPECT_TRUE(sending[i].take());
    EXPECT_EQ(*reading[i].take(), text_.size());
  }
}

TEST_P(SendFiles, a_disk_that_fails_is_data_loss) {
  if (!is_sim()) GTEST_SKIP() << "needs a disk that fails";
  simulation_->disk().set_faults({.read_error = 1});
  EXPECT_EQ(run(send(0, 10)).error().code(), Code::DataLoss);
  simulation_->disk().set_faults({});
}

TEST(BlockingSendFile, sends_a_part_and_says_when_the_file_ends_or_the_time) {
  const std::string text = pattern(5 * 1024 * 1024);
  char name[] = "/tmp/keel-send-XXXXXX";
  const int file = ::mkstemp(name);
  ASSERT_GE(file, 0);
  ::unlink(name);
  ASSERT_EQ(::pwrite(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  blocking::Listener listener = blocking::Listener::bind(*Address::parse("127.0.0.1:0")).value();
  blocking::Stream client = blocking::Stream::connect(listener.address(), 10_s).value();
  blocking::Stream server = listener.accept(10_s).value();
  std::string got(text.size() + 10, '\0');
  std::thread reader([&] { EXPECT_TRUE(client.read_exact(got, 20_s)); });
  EXPECT_TRUE(server.send_file(file, 0, text.size(), 20_s));
  const Result<> late = server.send_file(file, text.size() - 10, 11, 20_s);
  reader.join();
  EXPECT_EQ(late.error().code(), Code::OutOfRange);
  EXPECT_TRUE(got == text + text.substr(text.size() - 10));

  Result<> full;
  for (int i = 0; i < 100 && full; ++i) full = server.send_file(file, 0, text.size(), 5_ms);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), Code::DeadlineExceeded);
  ::close(file);
}

}  // namespace
}  // namespace keel::send_file_test
