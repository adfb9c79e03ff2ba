// Cancellation, one table for everything that waits: each row is an operation, each test asks all rows one question, on
// every engine, over TCP and Unix sockets. What a stopped operation answers, what it has done, what may still be used,
// and that no descriptor stays open; docs/cancellation.md has the answers as a table.

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "keel/exec/thread_pool.h"
#include "keel/io/file.h"
#include "keel/io/readiness.h"
#include "keel/net/datagram.h"
#include "keel/net/internal/net_test.h"
#include "keel/net/outbox.h"
#include "keel/net/resolver.h"
#include "keel/task/channel.h"
#include "keel/task/event.h"
#include "keel/task/gate.h"
#include "keel/task/generator.h"
#include "keel/task/group.h"
#include "keel/task/mutex.h"
#include "keel/task/resume_on.h"
#include "keel/task/scope.h"
#include "keel/task/semaphore.h"
#include "keel/task/timing.h"
#include "keel/task/until.h"

namespace keel::cancellation_test {
namespace {

using internal::NetTest;
using internal::pattern;
using internal::Which;

// The row of each kind of operation of an engine. One without does not compile.
constexpr const char* row_of(io::Kind kind) {
  switch (kind) {
    case io::Kind::Accept:
      return "Listener::accept";
    case io::Kind::Receive:
      return "Stream::receive";
    case io::Kind::Send:
      return "Stream::write";
    case io::Kind::Connect:
      return "Stream::connect";
    case io::Kind::SendFile:
      return "Stream::send_file";
    case io::Kind::Ready:
      return "readable";
    case io::Kind::ReceiveDatagrams:
      return "DatagramSocket::receive";
    case io::Kind::SendDatagrams:
      return "DatagramSocket::send";
    case io::Kind::Open:
      return "File::open";
    case io::Kind::ReadAt:
      return "File::read";
    case io::Kind::WriteAt:
      return "File::write";
    case io::Kind::Sync:
      return "File::sync";
    case io::Kind::Status:
      return "File::status";
    case io::Kind::Truncate:
      return "File::truncate";
    case io::Kind::Rename:
      return "rename_file";
    case io::Kind::Remove:
      return "remove_file";
  }
  return nullptr;
}

void ignore(StartCore&) noexcept {}

class Cancellation : public NetTest {
 public:
  void SetUp() override {
    NetTest::SetUp();
    if (loop_ == nullptr) return;
    if (!is_sim()) threads_ = std::make_unique<ThreadPool>(ThreadPoolOptions{"pool", 1});
    std::string made = is_sim() ? "/data" : (std::filesystem::temp_directory_path() / "keel-stop-XXXXXX").string();
    ASSERT_TRUE(is_sim() || ::mkdtemp(made.data()) != nullptr);
    folder_ = made;
    // What is opened once for all: threads, and whatever a library opens for itself.
    ASSERT_TRUE(run(write_whole(file("warm"), "x")));
    ASSERT_TRUE(run(remove_file(file("warm"))));
  }
  void TearDown() override {
    threads_.reset();
    NetTest::TearDown();
    std::error_code ignored;
    if (!is_sim() && !folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  using NetTest::accept_from;
  using NetTest::engine;
  using NetTest::free_address;
  using NetTest::is_sim;
  using NetTest::is_unix;
  using NetTest::listen;
  using NetTest::now;
  using NetTest::pair;
  using NetTest::Pair;
  using NetTest::read_count;
  using NetTest::run;
  using NetTest::settle;
  using NetTest::until;
  std::string file(const char* name) const { return folder_ + "/" + name; }
  Executor& pool() { return simulation_ != nullptr ? simulation_->pool() : *threads_; }

  // In the simulation, where /proc does not tell: what the next ones are numbered.
  int open_descriptors() {
    if (is_sim()) {
      int fds[16];
      int sum = 0;
      for (int& fd : fds) sum += fd = engine().open_stream(AF_INET).value();
      for (const int fd : fds) engine().close(fd);
      return sum;
    }
    int count = 0;
    DIR* folder = ::opendir("/proc/self/fd");
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
    return count;
  }

  std::unique_ptr<ThreadPool> threads_;
  std::string folder_;
};

// One operation and what is around it. Made anew for each question.
class Scene {
 public:
  explicit Scene(Cancellation& of) : test(of) {}
  virtual ~Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // The operation. When it is repeated after a stop it continues where it was.
  virtual Task<> act() = 0;
  // It gets part of its way.
  virtual void advance() {}
  // It may complete.
  virtual void finish() {}
  // Those that it waits for go away.
  virtual void lose() {}
  // After it has ended well, or was stopped after it had begun: what holds then.
  virtual void check_done() {}
  virtual void check_stopped() {}

 protected:
  Cancellation& test;
};

// What there is to say of an operation.
struct Row {
  const char* name;
  std::function<std::unique_ptr<Scene>(Cancellation&)> make;
  // Waits: until finish(), and when it is stopped the answer is Cancelled. Passes: it takes its time, nothing can hold
  // it up; when it is stopped it has taken place and says so, or it has not and the answer is Cancelled. Stays: it is
  // not interrupted.
  enum class Pace { Waits, Passes, Stays } pace = Pace::Waits;
  bool repeats = true;         // It may be awaited again after a stop.
  bool runs_once = false;      // Not even when it was stopped before it began.
  Code gone = Code::Internal;  // The answer after lose(), see has_peer.
  bool has_peer = false;       // Somebody can go.
  bool ends_by_time = false;   // What finish() does concerns those that begin afterwards.
  bool ends_well_when_gone = false;
};

// --- Listeners and streams.

struct Accepting : Scene {
  explicit Accepting(Cancellation& of) : Scene(of), listener(of.listen()) {}
  Task<> act() override {
    Stream stream = co_await listener.accept();
    Chunk chunk = co_await stream.receive();
    got = chunk;
  }
  Task<> call() {
    Stream stream = co_await Stream::connect(listener.address());
    co_await stream.write("h");
  }
  void finish() override { ASSERT_TRUE(test.run(call())); }
  // It connects, writes and closes before it is accepted.
  void lose() override { finish(); }
  void check_done() override { EXPECT_EQ(got, "h"); }

  Listener listener;
  std::string got;
};

struct Connecting : Scene {
  explicit Connecting(Cancellation& of) : Scene(of), to(of.free_address()) {
    fd = of.engine().open_listener(to, {}).value();
    to = of.engine().local_address(fd);
  }
  ~Connecting() override { close(); }
  Task<> act() override { Stream stream = co_await Stream::connect(to); }
  void close() {
    if (fd >= 0) test.engine().close(std::exchange(fd, -1));
  }
  void lose() override { close(); }

  Address to;
  int fd = -1;
};

struct Reading : Scene {
  explicit Reading(Cancellation& of) : Scene(of), streams(of.pair()) {}
  void say(std::string text) { ASSERT_TRUE(test.run(internal::write(streams.client, std::move(text)))); }
  void lose() override { streams.client.close(); }

  Cancellation::Pair streams;
  std::string got;
};
struct Receiving : Reading {
  using Reading::Reading;
  Task<> act() override {
    Chunk chunk = co_await streams.server.receive();
    got += chunk;
  }
  void finish() override { say("w"); }  // More might come in pieces.
  void check_done() override { EXPECT_EQ(got, "w"); }
};
struct ReadingSome : Receiving {
  using Receiving::Receiving;
  Task<> act() override {
    char into[16];
    const std::size_t size = co_await streams.server.read(into);
    got.append(into, size);
  }
};
// Half of it has come; nothing of it is lost by a stop.
struct ReadingExactly : Reading {
  using Reading::Reading;
  Task<> act() override {
    char into[8];
    co_await streams.server.read_exact(into);
    got.assign(into, sizeof into);
  }
  void advance() override {
    say("half");
    said_half = true;
  }
  void finish() override { say(said_half ? "full" : "halffull"); }
  void check_done() override { EXPECT_EQ(got, "halffull"); }
  bool said_half = false;
};
struct ReadingUntil : ReadingExactly {
  using ReadingExactly::ReadingExactly;
  Task<> act() override {
    Chunk line = co_await streams.server.read_until("ll", 100);
    got = line;
  }
};

struct ClosingGently : Reading {
  using Reading::Reading;
  Task<> act() override { co_await streams.server.close_gently(20_s); }
  void finish() override { lose(); }
};

// More than fits into the buffers between them.
struct Writing : Scene {
  explicit Writing(Cancellation& of)
      : Scene(of), listener(of.listen({.send_buffer_bytes = 64 * 1024, .receive_buffer_bytes = 64 * 1024})) {
    Start<Stream> accepting;
    accepting.begin(Cancellation::accept_from(listener), &ignore);
    peer = std::make_unique<Stream>(*of.run(Stream::connect(listener.address())));
    EXPECT_TRUE(of.until([&] { return accepting.has_ended(); }));
    mine = std::make_unique<Stream>(*accepting.take());
  }
  ~Writing() override {
    if (!reading.is_running()) return;
    mine.reset();
    peer->shutdown();
    EXPECT_TRUE(test.until([&] { return reading.has_ended(); }));
  }
  Task<> act() override { co_await mine->write(text()); }
  static Task<> compare(Stream& stream, std::size_t& got) {
    while (got < text().size()) {
      Chunk chunk = co_await stream.receive();
      if (chunk.empty()) break;
      EXPECT_TRUE(chunk == std::string_view(text()).substr(got, chunk.size()));
      got += chunk.size();
    }
  }
  void finish() override { reading.begin(compare(*peer, got), &ignore); }
  void lose() override { peer->close(); }
  void check_done() override {
    EXPECT_TRUE(test.until([&] { return got == text().size(); }));
  }
  // The peer gets what had left, in order, and then the end: not the whole.
  void check_stopped() override {
    mine->close();
    finish();
    EXPECT_TRUE(test.until([&] { return reading.has_ended(); }));
    EXPECT_GT(got, 0u);
    EXPECT_LT(got, text().size());
  }
  static const std::string& text() {
    static const std::string bytes = pattern(2 * 1024 * 1024);
    return bytes;
  }

  Listener listener;
  std::unique_ptr<Stream> mine;
  std::unique_ptr<Stream> peer;
  std::size_t got = 0;
  Start<void> reading;
};
struct WritingParts : Writing {
  using Writing::Writing;
  Task<> act() override {
    const std::string_view all = text();
    const std::string_view parts[] = {all.substr(0, 100), all.substr(100, 1'000'000), all.substr(1'000'100)};
    co_await mine->write(parts);
  }
};

struct SendingFile : Writing {
  explicit SendingFile(Cancellation& of) : Writing(of) {
    EXPECT_TRUE(of.run(write_whole(path, text())));
    EXPECT_TRUE(of.run(open()));
  }
  ~SendingFile() override {
    file.reset();
    EXPECT_TRUE(test.run(remove_file(path)));
  }
  Task<> open() { file.emplace(co_await File::open(path, File::Mode::Read)); }
  Task<> act() override { co_await mine->send_file(*file, 0, text().size()); }
  const std::string path = test.file("sent");
  std::optional<File> file;
};

struct RunningOutbox : Writing {
  explicit RunningOutbox(Cancellation& of) : Writing(of), outbox(*mine, {.bytes_max = text().size()}) {
    EXPECT_TRUE(outbox.push(text()));
  }
  Task<> act() override { co_await outbox.run(); }
  void finish() override {
    outbox.close();
    Writing::finish();
  }
  void check_stopped() override { EXPECT_EQ(outbox.push("x").error().code(), Code::Unavailable); }
  Outbox outbox;
};
struct WaitingForOutbox : Writing {
  explicit WaitingForOutbox(Cancellation& of, bool whole)
      : Writing(of), drained(whole), outbox(*mine, {.bytes_max = text().size()}) {
    EXPECT_TRUE(outbox.push(text()));
    outbox.close();
    // What run() leaves behind goes with its frame.
    running.begin(outbox.run(), [](StartCore& ended) noexcept { (void)static_cast<Start<void>&>(ended).take(); });
  }
  ~WaitingForOutbox() override {
    running.stop();
    EXPECT_TRUE(test.until([&] { return !running.is_running(); }));
  }
  Task<> act() override {
    if (drained) {
      co_await outbox.drained();
    } else {
      co_await outbox.below_low();
    }
  }
  void check_stopped() override {}
  bool drained;
  Outbox outbox;
  Start<void> running;
};

// --- Datagrams, of UDP.

struct Datagrams : Scene {
  explicit Datagrams(Cancellation& of)
      : Scene(of),
        mine(DatagramSocket::bind(*Address::parse("127.0.0.1:0")).value()),
        peer(DatagramSocket::connect(mine.local_address()).value()) {}
  static Task<> say(DatagramSocket& from, std::string text) { co_await from.send(text); }
  DatagramSocket mine;
  DatagramSocket peer;
};
struct ReceivingDatagram : Datagrams {
  using Datagrams::Datagrams;
  Task<> act() override {
    Datagram datagram = co_await mine.receive();
    got = datagram.bytes;
  }
  void finish() override { ASSERT_TRUE(test.run(say(peer, "word"))); }
  void check_done() override { EXPECT_EQ(got, "word"); }
  std::string got;
};
// Of a connected socket, which hears of what it sends to nobody.
struct ReceivingFromPeer : Scene {
  explicit ReceivingFromPeer(Cancellation& of)
      : Scene(of),
        peer(DatagramSocket::bind(*Address::parse("127.0.0.1:0")).value()),
        mine(DatagramSocket::connect(peer.local_address()).value()) {}
  static Task<> say(DatagramSocket& from, Address to) { co_await from.send("word", to); }
  Task<> act() override {
    const Datagram datagram = co_await mine.receive();
    got = datagram.bytes;
  }
  void finish() override { ASSERT_TRUE(test.run(say(peer, mine.local_address()))); }
  void lose() override {
    peer.close();
    test.settle();
    ASSERT_TRUE(test.run(say(mine, {})));
  }
  void check_done() override { EXPECT_EQ(got, "word"); }
  DatagramSocket peer;
  DatagramSocket mine;
  std::string got;
};
struct SendingDatagram : Datagrams {
  using Datagrams::Datagrams;
  Task<> act() override { co_await peer.send("word"); }
};

// --- Descriptors of others.

struct WaitingForReadable : Scene {
  explicit WaitingForReadable(Cancellation& of) : Scene(of) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  }
  ~WaitingForReadable() override {
    for (const int fd : fds) {
      if (fd >= 0) ::close(fd);
    }
  }
  Task<> act() override { co_await readable(fds[0]); }
  void finish() override { EXPECT_EQ(::write(fds[1], "x", 1), 1); }
  void lose() override { ::close(std::exchange(fds[1], -1)); }
  int fds[2] = {-1, -1};
};

// --- Files.

struct FileScene : Scene {
  explicit FileScene(Cancellation& of) : Scene(of) {
    EXPECT_TRUE(of.run(write_whole(path, "0123456789")));
    EXPECT_TRUE(of.run(open()));
  }
  ~FileScene() override {
    file.reset();
    (void)test.run(remove_file(path));
    (void)test.run(remove_file(other));
  }
  Task<> open() { file.emplace(co_await File::open(path, File::Mode::Write)); }
  std::string content() {
    const Result<std::string> text = test.run(read_whole(path, 100));
    return text ? *text : "none";
  }
  bool exists(const std::string& which) { return test.run(file_status(which)).has_value(); }

  const std::string path = test.file("file");
  const std::string other = test.file("other");
  std::optional<File> file;
};
struct Opening : FileScene {
  using FileScene::FileScene;
  Task<> act() override { File made = co_await File::open(other, File::Mode::CreateNew); }
  void check_done() override { EXPECT_TRUE(exists(other)); }
  void check_stopped() override { EXPECT_FALSE(exists(other)); }
};
struct ReadingFile : FileScene {
  using FileScene::FileScene;
  Task<> act() override { size = co_await file->read(0, into); }
  void check_done() override { EXPECT_EQ(std::string_view(into, size), "0123456789"); }
  char into[16];
  std::size_t size = 0;
};
struct WritingFile : FileScene {
  using FileScene::FileScene;
  Task<> act() override { co_await file->write(0, "abc"); }
  void check_done() override { EXPECT_EQ(content(), "abc3456789"); }
  void check_stopped() override { EXPECT_EQ(content(), "0123456789"); }
};
struct Syncing : FileScene {
  using FileScene::FileScene;
  Task<> act() override { co_await file->sync(); }
};
struct Asking : FileScene {
  using FileScene::FileScene;
  Task<> act() override { status = co_await file->status(); }
  void check_done() override { EXPECT_EQ(status.size, 10u); }
  FileStatus status;
};
struct Truncating : FileScene {
  using FileScene::FileScene;
  Task<> act() override { co_await file->truncate(3); }
  void check_done() override { EXPECT_EQ(content(), "012"); }
  void check_stopped() override { EXPECT_EQ(content(), "0123456789"); }
};
struct Renaming : FileScene {
  using FileScene::FileScene;
  Task<> act() override { co_await rename_file(path, other); }
  void check_done() override { EXPECT_TRUE(exists(other) && !exists(path)); }
  void check_stopped() override { EXPECT_TRUE(exists(path) && !exists(other)); }
};
struct Removing : FileScene {
  using FileScene::FileScene;
  Task<> act() override { co_await remove_file(path); }
  void check_done() override { EXPECT_FALSE(exists(path)); }
  void check_stopped() override { EXPECT_TRUE(exists(path)); }
};

// --- Waits of tasks.

struct Sleeping : Scene {
  explicit Sleeping(Cancellation& of) : Scene(of) {}
  Task<> act() override { co_await sleep_for(wakes ? 1_ms : 1_h); }
  void finish() override { wakes = true; }
  bool wakes = false;
};
struct WaitingForEvent : Scene {
  using Scene::Scene;
  Task<> act() override { co_await event.wait(); }
  void finish() override { event.set(); }
  Event event;
};
struct Acquiring : Scene {
  explicit Acquiring(Cancellation& of) : Scene(of), held(*semaphore.try_acquire()) {}
  Task<> act() override { Semaphore::Permit permit = co_await semaphore.acquire(); }
  void finish() override { held.release(); }
  void check_done() override { EXPECT_EQ(semaphore.available(), 1u); }
  Semaphore semaphore{1};
  Semaphore::Permit held;
};
struct Locking : Scene {
  explicit Locking(Cancellation& of) : Scene(of), held(*mutex.try_lock()) {}
  Task<> act() override { Mutex::Lock lock = co_await mutex.lock(); }
  void finish() override { held.release(); }
  void check_done() override { EXPECT_FALSE(mutex.is_locked()); }
  Mutex mutex;
  Mutex::Lock held;
};
struct ClosingGate : Scene {
  explicit ClosingGate(Cancellation& of) : Scene(of), inside(*gate.enter()) {}
  Task<> act() override { co_await gate.close(); }
  void finish() override { inside.reset(); }
  void check_stopped() override { EXPECT_FALSE(gate.enter()); }
  Gate gate;
  std::optional<Gate::Pass> inside;
};
struct SendingToChannel : Scene {
  explicit SendingToChannel(Cancellation& of) : Scene(of) { EXPECT_TRUE(of.run(put(1))); }
  Task<> put(int value) { co_await channel.send(std::move(value)); }
  Task<int> get() {
    auto value = co_await channel.receive();
    co_return value.value_or(0);
  }
  Task<> act() override { co_await channel.send(2); }
  void finish() override { EXPECT_EQ(test.run(get()).value(), 1); }
  void lose() override { channel.close(); }
  void check_done() override { EXPECT_EQ(test.run(get()).value(), 2); }
  Channel<int> channel{1};
};
struct ReceivingFromChannel : Scene {
  using Scene::Scene;
  Task<> put(int value) { co_await channel.send(std::move(value)); }
  Task<> act() override {
    auto value = co_await channel.receive();
    got = value.value_or(0);
  }
  void finish() override { EXPECT_TRUE(test.run(put(7))); }
  void lose() override { channel.close(); }
  void check_done() override { EXPECT_TRUE(got == 7); }
  Channel<int> channel{1};
  int got = 0;
};
// Several tasks, of which nobody is left behind, however it ends.
struct Joining : Scene {
  using Scene::Scene;
  struct Inside {
    explicit Inside(int& n) : count(n) { ++count; }
    ~Inside() { --count; }
    int& count;
  };
  static Task<> child(Event& waits_for, int& count) {
    const Inside here(count);
    co_await waits_for.wait();
  }
  Task<> act() override {
    Scope scope;
    for (int i = 0; i < 3; ++i) scope.spawn(child(event, inside));
    co_await scope.join();
  }
  void finish() override { event.set(); }
  void check_done() override { EXPECT_EQ(inside, 0); }
  void check_stopped() override { EXPECT_EQ(inside, 0); }
  Event event;
  Event never;
  int inside = 0;
};
struct AwaitingAll : Joining {
  using Joining::Joining;
  Task<> act() override { co_await all(child(event, inside), child(event, inside)); }
};
// The second one does not end by itself: the first one's success stops it.
struct AwaitingAny : Joining {
  using Joining::Joining;
  Task<> act() override { co_await any(child(event, inside), child(never, inside)); }
};
struct LimitingAll : Joining {
  using Joining::Joining;
  Task<> act() override { co_await with_timeout(1_h, all(child(event, inside), child(event, inside))); }
};
struct LimitingAny : Joining {
  using Joining::Joining;
  Task<> act() override { co_await with_timeout(1_h, any(child(event, inside), child(never, inside))); }
};
struct AwaitingUntil : Joining {
  using Joining::Joining;
  Task<> act() override { co_await until(never, child(event, inside)); }
};
struct AskingGenerator : Scene {
  explicit AskingGenerator(Cancellation& of) : Scene(of), generator(values_of(channel)) {}
  static Generator<int> values_of(Channel<int>& from) {
    while (true) {
      const std::optional<int> value = co_await from.receive();
      if (!value) co_return;
      co_yield *value;
    }
  }
  Task<> put(int value) { co_await channel.send(std::move(value)); }
  Task<> act() override {
    const std::optional<int> value = co_await generator.next();
    got = value.value_or(-1);
  }
  void finish() override { EXPECT_TRUE(test.run(put(7))); }
  void lose() override { channel.close(); }
  void check_done() override { EXPECT_EQ(got, 7); }
  // It has ended with the one who asked it.
  void check_stopped() override {
    EXPECT_TRUE(test.run(act()));
    EXPECT_EQ(got, -1);
  }
  Channel<int> channel{1};
  int got = 0;
  Generator<int> generator;
};
struct CheckingPoint : Scene {
  using Scene::Scene;
  Task<> act() override { co_await checkpoint(); }
};

// --- Work on other threads.

// The lookup of a name; in the simulation it takes a while, elsewhere until finish().
struct Resolving : Scene {
  explicit Resolving(Cancellation& of)
      : Scene(of), resolver(of.pool(), {}, [this](const std::string&) { return look(); }) {}
  ~Resolving() override { open(); }
  Result<std::vector<Address>> look() {
    std::unique_lock lock(mutex);
    if (!test.is_sim()) opened.wait(lock, [this] { return is_open; });
    ++lookups;
    return std::vector<Address>{*Address::ip("192.0.2.1", 0)};
  }
  Task<> act() override { found = co_await resolver.resolve("host.example", 443); }
  void open() {
    const std::lock_guard lock(mutex);
    is_open = true;
    opened.notify_all();
  }
  void finish() override { open(); }
  // Who asked has left; the answer is remembered.
  void check_done() override {
    EXPECT_EQ(found.size(), 1u);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(lookups, 1);
  }
  std::mutex mutex;
  std::condition_variable opened;
  bool is_open = false;
  int lookups = 0;
  std::vector<Address> found;
  Resolver resolver;
};
struct WorkingInPool : Scene {
  using Scene::Scene;
  Task<> act() override {
    Executor& home = *(co_await this_task()).executor;
    co_await resume_on(test.pool());
    worked = true;
    co_await resume_on(home);
    is_home = true;
  }
  void check_done() override { EXPECT_TRUE(worked && is_home); }
  bool worked = false;
  bool is_home = false;
};

template <class S, auto... arguments>
std::unique_ptr<Scene> make(Cancellation& of) {
  return std::make_unique<S>(of, arguments...);
}

using enum Row::Pace;

const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {.name = "Listener::accept", .make = make<Accepting>, .has_peer = true, .ends_well_when_gone = true},
      {.name = "Stream::connect",
       .make = make<Connecting>,
       .pace = Passes,
       .gone = Code::Unavailable,
       .has_peer = true},
      {.name = "Stream::receive", .make = make<Receiving>, .has_peer = true, .ends_well_when_gone = true},
      {.name = "Stream::read", .make = make<ReadingSome>, .has_peer = true, .ends_well_when_gone = true},
      {.name = "Stream::read_exact", .make = make<ReadingExactly>, .gone = Code::Unavailable, .has_peer = true},
      {.name = "Stream::read_until", .make = make<ReadingUntil>, .gone = Code::Unavailable, .has_peer = true},
      {.name = "Stream::close_gently",
       .make = make<ClosingGently>,
       .repeats = false,
       .runs_once = true,
       .has_peer = true,
       .ends_well_when_gone = true},
      {.name = "Stream::write", .make = make<Writing>, .repeats = false, .gone = Code::Unavailable, .has_peer = true},
      {.name = "Stream::write of parts",
       .make = make<WritingParts>,
       .repeats = false,
       .gone = Code::Unavailable,
       .has_peer = true},
      {.name = "Stream::send_file",
       .make = make<SendingFile>,
       .repeats = false,
       .gone = Code::Unavailable,
       .has_peer = true},
      {.name = "Outbox::run",
       .make = make<RunningOutbox>,
       .repeats = false,
       .runs_once = true,
       .gone = Code::Unavailable,
       .has_peer = true},
      {.name = "Outbox::below_low", .make = make<WaitingForOutbox, false>, .gone = Code::Unavailable, .has_peer = true},
      {.name = "Outbox::drained", .make = make<WaitingForOutbox, true>, .gone = Code::Unavailable, .has_peer = true},
      {.name = "DatagramSocket::receive", .make = make<ReceivingDatagram>},
      {.name = "DatagramSocket::receive of a peer",
       .make = make<ReceivingFromPeer>,
       .gone = Code::Unavailable,
       .has_peer = true},
      {.name = "DatagramSocket::send", .make = make<SendingDatagram>, .pace = Passes},
      {.name = "readable", .make = make<WaitingForReadable>, .has_peer = true, .ends_well_when_gone = true},
      {.name = "File::open", .make = make<Opening>, .pace = Passes},
      {.name = "File::read", .make = make<ReadingFile>, .pace = Passes},
      {.name = "File::write", .make = make<WritingFile>, .pace = Passes},
      {.name = "File::sync", .make = make<Syncing>, .pace = Passes},
      {.name = "File::status", .make = make<Asking>, .pace = Passes},
      {.name = "File::truncate", .make = make<Truncating>, .pace = Passes},
      {.name = "rename_file", .make = make<Renaming>, .pace = Passes},
      {.name = "remove_file", .make = make<Removing>, .pace = Passes},
      {.name = "sleep_for", .make = make<Sleeping>, .ends_by_time = true},
      {.name = "Event::wait", .make = make<WaitingForEvent>},
      {.name = "Semaphore::acquire", .make = make<Acquiring>},
      {.name = "Mutex::lock", .make = make<Locking>},
      {.name = "Gate::close", .make = make<ClosingGate>},
      {.name = "Channel::send", .make = make<SendingToChannel>, .gone = Code::Cancelled, .has_peer = true},
      {.name = "Channel::receive", .make = make<ReceivingFromChannel>, .has_peer = true, .ends_well_when_gone = true},
      {.name = "Scope::join", .make = make<Joining>},
      {.name = "all", .make = make<AwaitingAll>},
      {.name = "any", .make = make<AwaitingAny>},
      {.name = "until", .make = make<AwaitingUntil>},
      {.name = "with_timeout of all", .make = make<LimitingAll>},
      {.name = "with_timeout of any", .make = make<LimitingAny>},
      {.name = "Generator::next",
       .make = make<AskingGenerator>,
       .repeats = false,
       .runs_once = true,
       .has_peer = true,
       .ends_well_when_gone = true},
      {.name = "checkpoint", .make = make<CheckingPoint>, .pace = Passes},
      {.name = "Resolver::resolve", .make = make<Resolving>, .pace = Passes},
      {.name = "resume_on", .make = make<WorkingInPool>, .pace = Stays},
  };
  return list;
}

// Asks each row, and looks whether it leaves a descriptor open.
template <class Ask>
void ask_each(Cancellation& test, Ask ask) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    if (test.is_sim() && std::string_view(row.name) == "readable") continue;  // Nothing is foreign there.
    if (test.is_unix() && !row.has_peer) continue;                            // As over TCP.
    test.settle();
    const int before = test.open_descriptors();
    {
      const auto scene = row.make(test);
      ask(row, *scene);
    }
    EXPECT_TRUE(test.until([&] { return test.open_descriptors() == before; }))
        << test.open_descriptors() << " of " << before;
    if (::testing::Test::HasFailure()) return;
  }
}

// Whether `ended` is as it should be of an operation that was stopped for `reason` after it had begun.
void check_stopped(const Row& row, Scene& scene, const Result<>& ended, Code reason) {
  if (row.pace == Stays || (row.pace == Passes && ended)) {
    ASSERT_TRUE(ended) << ended.error().describe();
    scene.check_done();
    return;
  }
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), reason) << ended.error().describe();
  scene.check_stopped();
}

void check_repeats(Cancellation& test, Scene& scene) {
  scene.finish();
  const Result<> ended = test.run(scene.act());
  ASSERT_TRUE(ended) << ended.error().describe();
  scene.check_done();
}

INSTANTIATE_TEST_SUITE_P(, Cancellation, internal::every_kind(), internal::name_of_engine);

TEST_P(Cancellation, has_a_row_for_every_kind_of_operation_of_an_engine) {
  for (int kind = 0; kind <= static_cast<int>(io::Kind::Remove); ++kind) {
    const char* const name = row_of(static_cast<io::Kind>(kind));
    ASSERT_NE(name, nullptr) << kind;
    EXPECT_TRUE(std::ranges::any_of(rows(), [&](const Row& row) { return std::string_view(row.name) == name; }))
        << name;
  }
}

TEST_P(Cancellation, a_descriptor_that_stays_open_would_be_seen) {
  const int before = open_descriptors();
  const int fd = engine().open_stream(AF_INET).value();
  EXPECT_NE(open_descriptors(), before);
  engine().close(fd);
  EXPECT_TRUE(until([&] { return open_descriptors() == before; }));
}

TEST_P(Cancellation, before_it_begins_nothing_takes_place) {
  ask_each(*this, [&](const Row& row, Scene& scene) {
    StopSource stop;
    stop.request_stop();
    Start<void> start;

    ASSERT_TRUE(start.begin(scene.act(), &ignore, {.stop = &stop}) || row.name == std::string_view("checkpoint"));
    ASSERT_TRUE(until([&] { return start.has_ended(); }));

    const Result<> ended = start.take();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code(), Code::Cancelled);
    if (!row.runs_once) check_repeats(*this, scene);
  });
}

TEST_P(Cancellation, midway_it_ends_and_what_holds_then_is_what_is_documented) {
  ask_each(*this, [&](const Row& row, Scene& scene) {
    StopSource stop;
    Start<void> start;
    bool waits = !start.begin(scene.act(), &ignore, {.stop = &stop});
    if (row.pace == Row::Pace::Waits) {
      ASSERT_TRUE(waits);
      scene.advance();
      settle();
      ASSERT_FALSE(start.has_ended());
    }

    stop.request_stop();
    ASSERT_TRUE(until([&] { return start.has_ended(); }));

    const Result<> ended = start.take();
    check_stopped(row, scene, ended, Code::Cancelled);
    if (row.repeats && !ended) check_repeats(*this, scene);
  });
}

TEST_P(Cancellation, after_it_has_completed_the_result_stays) {
  ask_each(*this, [&](const Row& row, Scene& scene) {
    StopSource stop;
    Start<void> start;
    if (row.ends_by_time) scene.finish();
    if (!start.begin(scene.act(), &ignore, {.stop = &stop})) {
      scene.advance();
      if (!row.ends_by_time) scene.finish();
      ASSERT_TRUE(until([&] { return start.has_ended(); }));
    }

    stop.request_stop();

    const Result<> ended = start.take();
    ASSERT_TRUE(ended) << ended.error().describe();
    scene.check_done();
  });
}

TEST_P(Cancellation, past_its_deadline_it_ends_the_same_with_another_code) {
  ask_each(*this, [&](const Row& row, Scene& scene) {
    const Result<> ended = run(with_limit(scene.act(), row.pace == Row::Pace::Waits ? 5_ms : 1_ns));

    check_stopped(row, scene, ended, Code::DeadlineExceeded);
    if (row.repeats && !ended) check_repeats(*this, scene);
  });
}

TEST_P(Cancellation, a_peer_that_goes_ends_it) {
  ask_each(*this, [&](const Row& row, Scene& scene) {
    if (!row.has_peer) return;
    Start<void> start;
    if (row.pace == Row::Pace::Passes) {
      scene.lose();
      settle();
    }
    if (!start.begin(scene.act(), &ignore)) {
      if (row.pace == Row::Pace::Waits) {
        scene.advance();
        settle();
        scene.lose();
      }
      ASSERT_TRUE(until([&] { return start.has_ended(); }));
    }

    const Result<> ended = start.take();
    EXPECT_EQ(ended.has_value(), row.ends_well_when_gone);
    // The path of a simulated Unix socket goes with its listener.
    const bool no_path = GetParam() == Which::SimUnix && row.name == std::string_view("Stream::connect");
    const Code expected = no_path ? Code::NotFound : row.gone;
    EXPECT_TRUE(ended || ended.error().code() == expected) << ended.error().describe();
  });
}

}  // namespace
}  // namespace keel::cancellation_test
