// Files on every engine, and on io_uring as on a kernel that has no operations for them.

#include "keel/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "keel/io/testing/disk.h"
#include "keel/io/testing/loop_test.h"
#include "keel/task/scope.h"

namespace keel::io::file_test {
namespace {

using testing::pattern;
using testing::Which;

class FileTest : public testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (is_sim()) {
      folder_ = "/data";
      return;
    }
    std::string made = (std::filesystem::temp_directory_path() / "keel-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  void TearDown() override {
    LoopTest::TearDown();
    std::error_code ignored;
    if (!is_sim() && !folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const char* name = "file") const { return folder_ + "/" + name; }
  std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder_)) ++count;
    return count;
  }

  void step() {
    if (simulation_ != nullptr) {
      simulation_->step();
    } else {
      loop().turn(now() + 1_ms);  // Until something has completed.
    }
  }

  std::string folder_;
};

Task<std::string> read_exactly(File& file, std::uint64_t offset, std::size_t size) {
  std::string text(size, '\0');
  std::size_t used = 0;
  while (used < size) {
    const std::size_t got = co_await file.read(offset + used, {text.data() + used, size - used});
    if (got == 0) break;
    used += got;
  }
  text.resize(used);
  co_return text;
}

Task<std::string> write_and_read(std::string path, std::string text) {
  {
    File file = co_await File::open(path, File::Mode::CreateNew);
    co_await file.write(0, text);
    co_await file.sync();
  }
  File file = co_await File::open(path, File::Mode::Read);
  if (co_await file.size() != text.size()) co_await fail(Code::DataLoss, "the size is wrong");
  co_return co_await read_exactly(file, 0, text.size() + 1);
}

TEST_P(FileTest, what_is_written_is_read_again) {
  const std::string text = pattern(3 * 1024 * 1024 + 17);

  const auto read = run(write_and_read(path(), text));

  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_TRUE(*read == text);
}

Task<std::string> in_pieces(std::string path) {
  File file = co_await File::open(path, File::Mode::Create);
  co_await file.write(10, "end");
  co_await file.write(0, "begin");
  co_await file.write(4, "N");
  std::string all = co_await read_exactly(file, 0, 100);
  std::string none = co_await read_exactly(file, 13, 100);
  co_return all + none;
}

TEST_P(FileTest, offsets_are_kept_and_a_gap_reads_as_zeros) {
  EXPECT_EQ(*run(in_pieces(path())), std::string("begiN\0\0\0\0\0end", 13));
}

Task<> open_only(std::string path, File::Mode mode) { File file = co_await File::open(path, mode); }

TEST_P(FileTest, a_missing_file_is_not_found_and_an_existing_one_is_not_made_anew) {
  EXPECT_EQ(run(open_only(path(), File::Mode::Read)).error().code(), Code::NotFound);
  EXPECT_EQ(run(open_only(path(), File::Mode::Write)).error().code(), Code::NotFound);
  EXPECT_EQ(run(remove_file(path())).error().code(), Code::NotFound);
  EXPECT_EQ(run(rename_file(path(), path("other"))).error().code(), Code::NotFound);
  EXPECT_EQ(run(file_status(path())).error().code(), Code::NotFound);

  ASSERT_TRUE(run(write_whole(path(), "kept")));

  const auto again = run(open_only(path(), File::Mode::CreateNew));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::AlreadyExists);
  EXPECT_NE(again.error().describe().find(path()), std::string::npos) << "the error names the file";
  EXPECT_TRUE(run(open_only(path(), File::Mode::Create)));
  EXPECT_EQ(*run(read_whole(path(), 100)), "kept");
  EXPECT_TRUE(run(open_only(path(), File::Mode::Replace)));
  EXPECT_EQ(*run(read_whole(path(), 100)), "");
}

Task<std::string> read_beneath(std::string folder_path, std::string name, File::Links links = File::Links::Followed) {
  File folder = co_await File::open_folder(folder_path);
  File file = co_await folder.open_beneath(name, links);
  co_return co_await read_exactly(file, 0, 100);
}

TEST_P(FileTest, what_is_opened_beneath_a_folder_is_in_it) {
  if (!is_sim()) {
    ASSERT_EQ(::mkdir(path("in").c_str(), 0700), 0);
  }
  ASSERT_TRUE(run(write_whole(path("secret"), "no")));
  ASSERT_TRUE(run(write_whole(path("in/open"), "yes")));

  EXPECT_EQ(*run(read_beneath(path("in"), "open")), "yes");
  EXPECT_EQ(*run(read_beneath(folder_, "in/open")), "yes");
  EXPECT_EQ(*run(read_beneath(folder_, "in/../secret")), "no") << "it does not leave the folder";
  for (const std::string& name :
       {std::string("../secret"), std::string("../in/open"), std::string("./../secret"), path("in/open")}) {
    const auto opened = run(read_beneath(path("in"), name));
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code(), Code::PermissionDenied) << name << opened.error().describe();
    EXPECT_EQ(opened.error().errno_value(), EXDEV) << name;
  }
  EXPECT_EQ(run(read_beneath(path("in"), "missing")).error().code(), Code::NotFound);
}

TEST_P(FileTest, a_link_leads_nowhere_outside_of_the_folder) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has no links";
  ASSERT_EQ(::mkdir(path("in").c_str(), 0700), 0);
  ASSERT_TRUE(run(write_whole(path("secret"), "no")));
  ASSERT_TRUE(run(write_whole(path("in/open"), "yes")));
  ASSERT_EQ(::symlink("../secret", path("in/up").c_str()), 0);
  ASSERT_EQ(::symlink(path("secret").c_str(), path("in/absolute").c_str()), 0);
  ASSERT_EQ(::symlink("..", path("in/folder").c_str()), 0);
  ASSERT_EQ(::symlink("open", path("in/near").c_str()), 0);

  for (const char* name : {"up", "absolute", "folder/secret"}) {
    const auto opened = run(read_beneath(path("in"), name));
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().errno_value(), EXDEV) << name << opened.error().describe();
  }
  EXPECT_EQ(*run(read_beneath(path("in"), "near")), "yes");

  ASSERT_EQ(::symlink(".", path("in/same").c_str()), 0);
  for (const char* name : {"near", "same/open", "up"}) {
    const auto opened = run(read_beneath(path("in"), name, File::Links::Refused));
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().errno_value(), ELOOP) << name << opened.error().describe();
  }
  EXPECT_EQ(*run(read_beneath(path("in"), "open", File::Links::Refused)), "yes");
}

Task<bool> is_pipe_beneath(std::string folder_path, std::string name) {
  File folder = co_await File::open_folder(folder_path);
  File file = co_await folder.open_beneath(name);
  const FileStatus status = co_await file.status();
  co_return !status.is_plain_file() && (::fcntl(file.descriptor(), F_GETFL) & O_NONBLOCK) == 0;
}

Task<bool> is_pipe(std::string path) {
  File file = co_await with_timeout(5_s, File::open(std::move(path), File::Mode::Read));
  const FileStatus status = co_await file.status();
  co_return !status.is_plain_file() && (::fcntl(file.descriptor(), F_GETFL) & O_NONBLOCK) == 0;
}

TEST_P(FileTest, a_pipe_is_opened_without_waiting_for_who_writes) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has no pipes";
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);

  EXPECT_TRUE(*run(is_pipe_beneath(folder_, "pipe")));
  EXPECT_TRUE(*run(is_pipe(path("pipe"))));
}

Task<> write_to_a_file_opened_for_reading(std::string path) {
  File file = co_await File::open(path, File::Mode::Read);
  co_await file.write(0, "no");
}

TEST_P(FileTest, a_file_opened_for_reading_is_not_written) {
  ASSERT_TRUE(run(write_whole(path(), "kept")));
  const auto written = run(write_to_a_file_opened_for_reading(path()));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().errno_value(), EBADF);
  EXPECT_EQ(*run(read_whole(path(), 100)), "kept");
}

TEST_P(FileTest, what_may_not_be_opened_says_so) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has no owners";
  // No user may write a folder, or a file whose path goes through a file.
  const auto folder = run(open_only(folder_, File::Mode::Write));
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), Code::InvalidArgument);
  if (geteuid() == 0) return;  // Everything is permitted.
  ASSERT_TRUE(run(write_whole(path(), "mine", 0400)));
  EXPECT_EQ(run(open_only(path(), File::Mode::Write)).error().code(), Code::PermissionDenied);
}

Task<FileStatus> status_of_open_file(std::string path) {
  File file = co_await File::open(path, File::Mode::Read);
  co_return co_await file.status();
}

TEST_P(FileTest, the_status_is_that_of_the_system) {
  ASSERT_TRUE(run(write_whole(path(), pattern(5000))));

  const FileStatus by_path = *run(file_status(path()));
  const FileStatus by_file = *run(status_of_open_file(path()));

  EXPECT_EQ(by_path.size, 5000u);
  EXPECT_EQ(by_file.size, 5000u);
  EXPECT_TRUE(by_path.is_plain_file());
  EXPECT_FALSE(by_path.is_folder());
  if (is_sim()) return;
  struct stat system{};
  ASSERT_EQ(::stat(path().c_str(), &system), 0);
  EXPECT_EQ(by_path.mode, system.st_mode);
  EXPECT_EQ(by_path.modified_ns, system.st_mtim.tv_sec * 1'000'000'000 + system.st_mtim.tv_nsec);
  EXPECT_EQ(by_file.modified_ns, by_path.modified_ns);
  EXPECT_TRUE(run(file_status(folder_))->is_folder());
}

Task<std::uint64_t> cut_and_fill(std::string path) {
  File file = co_await File::open(path, File::Mode::Create);
  co_await file.write(0, "0123456789");
  co_await file.truncate(4);
  const std::uint64_t cut = co_await file.size();
  co_await file.truncate(6);
  co_return cut * 100 + co_await file.size();
}

TEST_P(FileTest, truncate_cuts_and_fills_up) {
  EXPECT_EQ(*run(cut_and_fill(path())), 406u);
  EXPECT_EQ(*run(read_whole(path(), 100)), std::string("0123\0\0", 6));
}

TEST_P(FileTest, a_renamed_file_replaces_and_a_removed_one_is_gone) {
  ASSERT_TRUE(run(write_whole(path("a"), "a")));
  ASSERT_TRUE(run(write_whole(path("b"), "b")));

  EXPECT_TRUE(run(rename_file(path("a"), path("b"))));

  EXPECT_EQ(*run(read_whole(path("b"), 100)), "a");
  EXPECT_EQ(run(read_whole(path("a"), 100)).error().code(), Code::NotFound);
  EXPECT_TRUE(run(remove_file(path("b"))));
  EXPECT_EQ(run(read_whole(path("b"), 100)).error().code(), Code::NotFound);
  EXPECT_TRUE(run(sync_folder(folder_)));
}

TEST_P(FileTest, read_whole_reads_up_to_its_bound_and_not_beyond) {
  for (const std::size_t size : {0, 1, 4096, 65536, 200'000}) {
    const std::string text = pattern(size);
    ASSERT_TRUE(run(write_whole(path(), text)));
    const auto at_bound = run(read_whole(path(), size));
    ASSERT_TRUE(at_bound) << at_bound.error().describe();
    EXPECT_TRUE(*at_bound == text);
    if (size == 0) continue;
    const auto above = run(read_whole(path(), size - 1));
    ASSERT_FALSE(above);
    EXPECT_EQ(above.error().code(), Code::OutOfRange);
  }
}

// It says 0 and has more: what /proc gives.
TEST_P(FileTest, read_whole_reads_what_has_no_size) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk knows every size";
  const auto text = run(read_whole("/proc/self/status", 1 << 20));
  ASSERT_TRUE(text) << text.error().describe();
  EXPECT_NE(text->find("Threads:"), std::string::npos);
  EXPECT_EQ(run(read_whole("/proc/self/status", 10)).error().code(), Code::OutOfRange);
}

// The kernel gives about a page of it in each read.
TEST_P(FileTest, read_whole_reads_all_of_what_has_no_size) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk knows every size";
  const auto text = run(read_whole("/proc/self/smaps", 1 << 26));
  ASSERT_TRUE(text) << text.error().describe();
  EXPECT_GT(text->size(), 16'384u);
  EXPECT_NE(text->find("[stack]"), std::string::npos);
  EXPECT_EQ(run(read_whole("/proc/self/smaps", 16'384)).error().code(), Code::OutOfRange);
}

TEST_P(FileTest, write_whole_leaves_the_old_content_when_it_fails) {
  ASSERT_TRUE(run(write_whole(path(), "old")));
  if (is_sim()) {
    simulation_->disk().set_faults({.capacity_bytes = 1000});
    const auto full = run(write_whole(path(), pattern(2000)));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code(), Code::ResourceExhausted);
    simulation_->disk().set_faults({});
  } else {
    // A name that is too long for what is made beside it.
    const std::string longest(250, 'n');
    const auto full = run(write_whole(path(longest.c_str()), "new"));
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().errno_value(), ENAMETOOLONG);
    EXPECT_EQ(entries(), 1u);
  }
  EXPECT_EQ(*run(read_whole(path(), 100)), "old");
}

// A device that has no room: what a full disk answers, without filling one.
TEST_P(FileTest, a_full_disk_is_resource_exhausted) {
  if (is_sim()) GTEST_SKIP() << "write_whole_leaves_the_old_content_when_it_fails";
  struct Writing {
    static Task<> run() {
      File file = co_await File::open("/dev/full", File::Mode::Write);
      co_await file.write(0, "one more");
    }
  };
  const auto written = run(Writing::run());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(written.error().errno_value(), ENOSPC);
}

TEST_P(FileTest, without_descriptors_opening_is_refused_and_works_again_later) {
  if (is_sim()) GTEST_SKIP() << "the simulation has as many as one wants";
  ASSERT_TRUE(run(write_whole(path(), "x")));
  settle();  // What was closed is closed.
  Result<> refused;
  {
    const testing::NoDescriptors none;
    refused = run(open_only(path(), File::Mode::Read));
  }

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(refused.error().errno_value(), EMFILE);
  EXPECT_EQ(*run(read_whole(path(), 100)), "x");
}

Task<> write_number(File& file, std::uint64_t number) {
  const std::string text(1000, static_cast<char>('A' + number % 26));
  co_await file.write(number * 1000, text);
}
Task<std::string> write_many(std::string path, std::uint64_t count) {
  File file = co_await File::open(path, File::Mode::Create);
  Scope scope;
  for (std::uint64_t i = 0; i < count; ++i) scope.spawn(write_number(file, i));
  co_await scope.join();
  co_return co_await read_exactly(file, 0, count * 1000);
}

TEST_P(FileTest, many_operations_on_one_file_are_under_way_at_once) {
  constexpr std::uint64_t count = 300;
  const auto text = run(write_many(path(), count));
  ASSERT_TRUE(text) << text.error().describe();
  ASSERT_EQ(text->size(), count * 1000);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(text->substr(i * 1000, 1000), std::string(1000, static_cast<char>('A' + i % 26))) << i;
  }
}

// The operations themselves: what File does not offer.
struct Writer : WriteAt {
  Writer() : WriteAt([](Op& op) noexcept { static_cast<Writer&>(op).ended = true; }) {}
  bool ended = false;
};
struct Opener : Open {
  Opener() : Open([](Op& op) noexcept { static_cast<Opener&>(op).ended = true; }) {}
  bool ended = false;
};

TEST_P(FileTest, a_pipe_that_nobody_reads_is_not_opened_for_writing_alone) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has no pipes";
  const std::string name = path("pipe");
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  const auto open = [&](Opener& opener) {
    opener.path = name.c_str();
    opener.flags = O_WRONLY | O_APPEND;
    loop().engine().submit(opener);
    ASSERT_TRUE(until([&] { return opener.ended; }));
  };
  Opener alone, with_reader;
  open(alone);
  const int reader = ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  open(with_reader);

  EXPECT_EQ(alone.result, -ENXIO);
  ASSERT_GE(with_reader.result, 0);
  EXPECT_EQ(::fcntl(with_reader.result, F_GETFL) & (O_NONBLOCK | O_APPEND), O_APPEND);
  loop().engine().close(with_reader.result);
  ::close(reader);
}

// Another process's lease is waited for, as without O_NONBLOCK: fcntl(2), "Leases".
TEST_P(FileTest, a_file_under_a_lease_is_opened_when_that_is_given_back) {
  if (is_sim()) GTEST_SKIP() << "the simulated disk has no leases";
  ASSERT_TRUE(run(write_whole(path(), "leased")));
  std::signal(SIGIO, SIG_IGN);  // The word that somebody waits.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (const bool beneath : {false, true}) {
    settle();  // Nobody else has it open.
    const int holder = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
    if (::fcntl(holder, F_SETLEASE, F_WRLCK) != 0) {
      ::close(holder);
      ::close(folder);
      GTEST_SKIP() << "no leases here: " << std::strerror(errno);
    }
    const std::string name = beneath ? "file" : path();
    Opener opener;
    opener.path = name.c_str();
    opener.flags = O_RDONLY;
    opener.beneath = beneath;
    if (beneath) opener.fd = folder;
    loop().engine().submit(opener);
    pass(30_ms);
    EXPECT_FALSE(opener.ended) << opener.result;

    ASSERT_EQ(::fcntl(holder, F_SETLEASE, F_UNLCK), 0);

    ASSERT_TRUE(until([&] { return opener.ended; }));
    EXPECT_GE(opener.result, 0);
    loop().engine().close(opener.result);
    ::close(holder);
  }
  ::close(folder);
}

TEST_P(FileTest, parts_are_written_in_order_and_whole) {
  const std::string text = pattern(300'000);
  std::vector<iovec> parts;
  std::size_t at = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t size = i == 63 ? text.size() - at : i * 100;  // The first part is empty.
    parts.push_back({const_cast<char*>(text.data()) + at, size});
    at += size;
  }
  Opener opener;
  const std::string name = path();
  opener.path = name.c_str();
  opener.flags = O_RDWR | O_CREAT;
  loop().engine().submit(opener);
  ASSERT_TRUE(until([&] { return opener.ended; }));
  ASSERT_GE(opener.result, 0);
  Writer writer;
  writer.fd = opener.result;
  writer.parts = parts.data();
  writer.part_count = static_cast<std::uint32_t>(parts.size());
  writer.offset = 5;

  EXPECT_FALSE(loop().engine().submit(writer));
  ASSERT_TRUE(until([&] { return writer.ended; }));

  EXPECT_EQ(writer.result, static_cast<int>(text.size()));
  loop().engine().close(opener.result);
  EXPECT_TRUE(run(read_whole(path(), 1 << 20))->substr(5) == text);
}

TEST_P(FileTest, a_cancelled_operation_ends_with_its_result_or_cancelled_and_only_once) {
  const std::string text = pattern(100'000);
  ASSERT_TRUE(run(write_whole(path(), text)));
  const std::string name = path();
  int cancelled = 0, done = 0;
  for (int round = 0; round < 40; ++round) {
    std::deque<Opener> openers(8);
    for (Opener& each : openers) {
      each.path = name.c_str();
      each.flags = O_RDWR;
      loop().engine().submit(each);
    }
    // Before it began, or while it is under way.
    if (round % 2 != 0) step();
    for (Opener& each : openers) {
      loop().engine().cancel(each);
      loop().engine().cancel(each);
    }
    ASSERT_TRUE(until([&] { return std::ranges::all_of(openers, [](const Opener& each) { return each.ended; }); }));
    for (Opener& each : openers) {
      EXPECT_TRUE(each.is_idle());
      each.result >= 0 ? ++done : ++cancelled;
      if (each.result >= 0) {
        loop().engine().close(each.result);
      } else {
        EXPECT_EQ(each.result, -ECANCELED);
      }
      loop().engine().cancel(each);  // Afterwards: nothing.
    }
  }
  EXPECT_EQ(cancelled + done, 320);
  EXPECT_TRUE(*run(read_whole(path(), 1 << 20)) == text);
}

// Every way in which a task can be stopped, for each operation of File.
Task<> use_all(std::string path) {
  File file = co_await File::open(path, File::Mode::Create);
  char byte = 0;
  co_await file.write(0, "text");
  co_await file.sync();
  co_await file.read(0, {&byte, 1});
  co_await file.status();
  co_await file.size();
  co_await file.truncate(3);
}

TEST_P(FileTest, a_task_that_is_stopped_between_or_within_its_operations_ends_and_closes) {
  const std::size_t before = is_sim() ? 0 : std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  bool was_stopped = false, has_ended = false;
  for (int steps = 0; steps < 1000 && !has_ended; ++steps) {
    Start<void> start;
    if (start.begin(use_all(path()), [](StartCore&) noexcept {})) FAIL() << "a file is not opened at once";
    for (int i = 0; i < steps && !start.has_ended(); ++i) step();
    has_ended = start.has_ended();
    start.stop();
    ASSERT_TRUE(until([&] { return start.has_ended(); }));
    const auto result = start.take();
    if (!result) {
      EXPECT_EQ(result.error().code(), Code::Cancelled);
      was_stopped = true;
    }
  }
  EXPECT_TRUE(was_stopped);
  EXPECT_TRUE(has_ended);
  settle();
  if (!is_sim()) {
    // The threads of the engine have no descriptors of their own.
    EXPECT_EQ(static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {})),
              before);
  }
}

TEST_P(FileTest, after_the_deadline_nothing_begins) {
  Start<void> start;
  const bool ended = start.begin(use_all(path()), [](StartCore&) noexcept {}, {.deadline = loop().now() - 1_ms});
  ASSERT_TRUE(ended);
  EXPECT_EQ(start.take().error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(run(file_status(path())).error().code(), Code::NotFound);
}

TEST_P(FileTest, the_simulated_disk_takes_time) {
  if (!is_sim()) GTEST_SKIP() << "real disks take the time they take";
  ASSERT_TRUE(run(write_whole(path(), "x")));
  const Instant begun = now();
  ASSERT_TRUE(run(open_only(path(), File::Mode::Read)));
  EXPECT_GE(now() - begun, 20_us);
  EXPECT_LE(now() - begun, 10_ms);
}

TEST_P(FileTest, what_was_synced_is_there_after_a_loss_of_power_and_what_was_not_may_be_lost) {
  if (!is_sim()) GTEST_SKIP() << "needs a disk that loses power";
  struct Writing {
    static Task<> run(std::string path, std::string text, bool syncs) {
      File file = co_await File::open(path, File::Mode::Create);
      co_await file.write(0, text);
      if (!syncs) co_return;
      co_await file.sync();
      co_await sync_folder("/data");
    }
  };
  const std::string text = pattern(20'000);
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::Disk disk(seed);
    {
      sim::Simulation simulation({.seed = seed}, &disk);
      Loop& worker = simulation.add_loop();
      const Loop::Entered entered(worker);
      Start<void> synced, unsynced;
      synced.begin(Writing::run("/data/synced", text, true), [](StartCore&) noexcept {});
      unsynced.begin(Writing::run("/data/unsynced", text, false), [](StartCore&) noexcept {});
      ASSERT_TRUE(simulation.run_until([&] { return synced.has_ended() && unsynced.has_ended(); }, 60_s));
      ASSERT_TRUE(synced.take());
      ASSERT_TRUE(unsynced.take());
    }
    disk.power_off();
    disk.power_on();
    sim::Simulation simulation({.seed = seed + 1000}, &disk);
    Loop& worker = simulation.add_loop();
    const Loop::Entered entered(worker);
    Start<std::string> synced, unsynced;
    synced.begin(read_whole("/data/synced", 1 << 20), [](StartCore&) noexcept {});
    unsynced.begin(read_whole("/data/unsynced", 1 << 20), [](StartCore&) noexcept {});
    ASSERT_TRUE(simulation.run_until([&] { return synced.has_ended() && unsynced.has_ended(); }, 60_s));
    EXPECT_TRUE(*synced.take() == text) << "seed " << seed;
    const auto other = unsynced.take();
    if (!other || *other != text) ++lost;
  }
  EXPECT_GT(lost, 0) << "the disk forgets what was not synced, else this test shows nothing";
}

TEST_P(FileTest, write_whole_is_old_or_new_after_a_loss_of_power_at_any_change) {
  if (!is_sim()) GTEST_SKIP() << "needs a disk that loses power";
  const std::string old_text = pattern(9000), new_text(12'000, 'n');
  int olds = 0, news = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    sim::Disk disk(seed);
    bool acknowledged = false;
    {
      sim::Simulation simulation({.seed = seed}, &disk);
      const Loop::Entered entered(simulation.add_loop());
      Start<void> first, second;
      first.begin(write_whole("/data/state", old_text), [](StartCore&) noexcept {});
      ASSERT_TRUE(simulation.run_until([&] { return first.has_ended(); }, 60_s));
      ASSERT_TRUE(first.take());
      disk.power_off_after(1 + seed % 7);
      second.begin(write_whole("/data/state", new_text), [](StartCore&) noexcept {});
      ASSERT_TRUE(simulation.run_until([&] { return second.has_ended(); }, 60_s));
      acknowledged = second.take().has_value();
    }
    if (disk.is_on()) disk.power_off();
    disk.power_on();
    sim::Simulation simulation({.seed = seed}, &disk);
    const Loop::Entered entered(simulation.add_loop());
    Start<std::string> reading;
    reading.begin(read_whole("/data/state", 1 << 20), [](StartCore&) noexcept {});
    ASSERT_TRUE(simulation.run_until([&] { return reading.has_ended(); }, 60_s));
    const auto text = reading.take();
    ASSERT_TRUE(text) << "seed " << seed << ": " << text.error().describe();
    EXPECT_TRUE(*text == old_text || *text == new_text) << "seed " << seed;
    EXPECT_TRUE(!acknowledged || *text == new_text) << "seed " << seed;
    *text == new_text ? ++news : ++olds;
  }
  EXPECT_GT(olds, 0);
  EXPECT_GT(news, 0);
}

TEST_P(FileTest, a_disk_that_fails_is_data_loss) {
  if (!is_sim()) GTEST_SKIP() << "needs a disk that fails";
  ASSERT_TRUE(run(write_whole(path(), "text")));
  simulation_->disk().set_faults({.read_error = 1});
  EXPECT_EQ(run(read_whole(path(), 100)).error().code(), Code::DataLoss);
  simulation_->disk().set_faults({.sync_error = 1});
  const auto synced = run(write_whole(path(), "new"));
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().errno_value(), EIO);
  // Writes that take less than all are continued with.
  simulation_->disk().set_faults({.short_write = 1});
  const std::string text = pattern(50'000);
  ASSERT_TRUE(run(write_whole(path(), text)));
  EXPECT_GT(simulation_->disk().counts().short_writes, 0u);
  EXPECT_TRUE(*run(read_whole(path(), 1 << 20)) == text);
  // And so are reads.
  simulation_->disk().set_faults({.short_read = 1});
  EXPECT_TRUE(*run(read_whole(path(), 1 << 20)) == text);
  EXPECT_GT(simulation_->disk().counts().short_reads, 0u);
}

INSTANTIATE_TEST_SUITE_P(Io, FileTest,
                         ::testing::Values(Which::Uring, Which::UringWithoutFiles, Which::Epoll, Which::Sim),
                         testing::name_of_engine);

}  // namespace
}  // namespace keel::io::file_test
