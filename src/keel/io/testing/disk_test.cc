#include "keel/io/testing/disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace keel::sim::disk_test {
namespace {

constexpr std::uint64_t seeds = 200;

std::string bytes(std::size_t size, char first = 'a') {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(first + i / 512 % 20);
  return text;
}

std::string content(Disk& disk, const char* path) {
  const int file = disk.open(path, false);
  if (file < 0) return "missing";
  std::string text(static_cast<std::size_t>(disk.size(file)), ' ');
  EXPECT_EQ(disk.read(file, text, 0), static_cast<std::int64_t>(text.size()));
  disk.close(file);
  return text;
}

// A file that is wholly on the disk.
int make_synced(Disk& disk, const char* path, std::string_view text) {
  const int file = disk.open(path, true);
  EXPECT_EQ(disk.write(file, text, 0), static_cast<std::int64_t>(text.size()));
  EXPECT_EQ(disk.sync(file), 0);
  EXPECT_EQ(disk.sync_folder(path), 0);
  return file;
}

void lose_power(Disk& disk) {
  disk.power_off();
  disk.power_on();
}

TEST(SimDisk, reads_what_was_written) {
  Disk disk(1);
  const int file = disk.open("/a", true);
  EXPECT_EQ(disk.write(file, "hello", 3), 5);
  std::string text(10, '-');

  EXPECT_EQ(disk.read(file, text, 1), 7);

  EXPECT_EQ(text, std::string("\0\0hello---", 10));
  EXPECT_EQ(disk.read(file, text, 8), 0);
  EXPECT_EQ(disk.size(file), 8);
  EXPECT_EQ(disk.truncate(file, 4), 0);
  EXPECT_EQ(disk.find("/a"), 4);
  EXPECT_EQ(content(disk, "/a"), std::string("\0\0\0h", 4));
}

TEST(SimDisk, names_are_made_removed_and_renamed) {
  Disk disk(1);
  EXPECT_EQ(disk.open("/a", false), -ENOENT);
  EXPECT_EQ(disk.find("/a"), -ENOENT);
  EXPECT_EQ(disk.remove("/a"), -ENOENT);
  EXPECT_EQ(disk.rename("/a", "/b"), -ENOENT);
  const int file = disk.open("/a", true);
  EXPECT_EQ(disk.write(file, "one", 0), 3);

  EXPECT_EQ(disk.rename("/a", "/b"), 0);

  EXPECT_EQ(disk.find("/a"), -ENOENT);
  EXPECT_EQ(content(disk, "/b"), "one");
  EXPECT_EQ(disk.remove("/b"), 0);
  EXPECT_EQ(disk.find("/b"), -ENOENT);
  EXPECT_EQ(disk.size(file), 3) << "a removed file lives until it is closed";
}

TEST(SimDisk, keeps_what_was_synced_whatever_the_seed) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    const std::string text = bytes(20'000);
    const int file = make_synced(disk, "/d/a", text);
    EXPECT_EQ(disk.write(file, bytes(9'000, 'A'), 20'000), 9'000);

    lose_power(disk);

    const std::string left = content(disk, "/d/a");
    ASSERT_EQ(left.substr(0, 20'000), text) << "seed " << seed;
    ASSERT_LE(left.size(), 29'000u);
  }
}

TEST(SimDisk, keeps_loses_and_tears_unsynced_pages) {
  int kept = 0;
  int lost = 0;
  int torn = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    const int file = make_synced(disk, "/a", std::string(8192, 'o'));
    EXPECT_EQ(disk.write(file, std::string(8192, 'n'), 0), 8192);

    lose_power(disk);

    const std::string left = content(disk, "/a");
    ASSERT_EQ(left.size(), 8192u);
    for (std::size_t at = 0; at < 8192; at += 512) {
      ASSERT_TRUE(left.substr(at, 512) == std::string(512, 'o') || left.substr(at, 512) == std::string(512, 'n'))
          << "a sector is old or new, seed " << seed;
    }
    const std::string page = left.substr(0, 4096);
    const bool has_old = page.find('o') != page.npos;
    const bool has_new = page.find('n') != page.npos;
    ++(has_old && has_new ? torn : has_old ? lost : kept);
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(lost, 20);
  EXPECT_GT(torn, 20);
}

TEST(SimDisk, loses_a_new_size_or_part_of_it) {
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    const int file = make_synced(disk, "/a", bytes(100));
    EXPECT_EQ(disk.truncate(file, 10'000), 0);
    lose_power(disk);
    sizes.insert(content(disk, "/a").size());
    ASSERT_EQ(content(disk, "/a").substr(0, 100), bytes(100));
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{100, 4096, 8192, 10'000}));
}

TEST(SimDisk, may_bring_back_what_was_cut_off) {
  std::set<std::string> left;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    const int file = make_synced(disk, "/a", "old");
    EXPECT_EQ(disk.truncate(file, 0), 0);
    lose_power(disk);
    left.insert(content(disk, "/a"));
  }
  EXPECT_EQ(left, (std::set<std::string>{"", "old"}));
}

TEST(SimDisk, forgets_a_name_that_was_not_synced_although_the_file_was) {
  int missing = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    const int file = disk.open("/d/a", true);
    EXPECT_EQ(disk.write(file, "one", 0), 3);
    EXPECT_EQ(disk.sync(file), 0);
    EXPECT_EQ(disk.sync_folder("/other/a"), 0);
    lose_power(disk);
    const std::string left = content(disk, "/d/a");
    if (left == "missing") {
      ++missing;
    } else {
      ASSERT_EQ(left, "one");
    }
  }
  EXPECT_GT(missing, 20);
  EXPECT_LT(missing, static_cast<int>(seeds) - 20);
}

TEST(SimDisk, may_bring_back_a_removed_name) {
  int back = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    make_synced(disk, "/a", "one");
    EXPECT_EQ(disk.remove("/a"), 0);
    lose_power(disk);
    if (disk.find("/a") >= 0) ++back;
  }
  EXPECT_GT(back, 20);
  EXPECT_LT(back, static_cast<int>(seeds) - 20);
}

TEST(SimDisk, a_renamed_file_keeps_one_of_its_names) {
  int old_name = 0;
  int new_name = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    make_synced(disk, "/a", "one");
    EXPECT_EQ(disk.rename("/a", "/b"), 0);
    lose_power(disk);
    if (disk.find("/a") >= 0) ++old_name;
    if (disk.find("/b") >= 0) ++new_name;
    ASSERT_TRUE(disk.find("/a") >= 0 || disk.find("/b") >= 0);
  }
  EXPECT_GT(old_name, 20);
  EXPECT_GT(new_name, 20);
}

TEST(SimDisk, a_failed_sync_drops_pages_that_no_later_sync_brings_back) {
  int dropped = 0;
  int old_at_once = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed);
    const int file = make_synced(disk, "/a", std::string(4096, 'o'));
    EXPECT_EQ(disk.write(file, std::string(4096, 'n'), 0), 4096);
    disk.set_faults({.sync_error = 1});
    EXPECT_EQ(disk.sync(file), -EIO);
    disk.set_faults({});
    if (content(disk, "/a")[0] == 'o') ++old_at_once;
    EXPECT_EQ(disk.sync(file), 0) << "it says that all is well";

    lose_power(disk);

    if (content(disk, "/a")[0] == 'o') ++dropped;
  }
  EXPECT_GT(dropped, 20);
  EXPECT_LT(dropped, static_cast<int>(seeds) - 20);
  EXPECT_GT(old_at_once, 5);
  EXPECT_LT(old_at_once, dropped);
}

TEST(SimDisk, a_lying_disk_keeps_nothing_for_sure) {
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Disk disk(seed, {.syncs = false});
    make_synced(disk, "/a", "one");
    lose_power(disk);
    if (content(disk, "/a") == "one") ++kept;
  }
  EXPECT_LT(kept, static_cast<int>(seeds) - 20);
}

TEST(SimDisk, fails_as_often_as_it_is_told) {
  Disk disk(7, {.read_error = 0.5, .write_error = 0.25, .short_write = 0.5});
  int file = -1;
  while (file < 0) file = disk.open("/a", true);
  int whole = 0;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t written = disk.write(file, "0123456789", 0);
    ASSERT_TRUE(written == -EIO || (written > 0 && written <= 10));
    if (written == 10) ++whole;
    char into[10];
    const std::int64_t got = disk.read(file, into, 0);
    ASSERT_TRUE(got == -EIO || got >= 0);
  }
  EXPECT_EQ(disk.counts().short_reads, 0u);
  disk.set_faults({.short_read = 0.5});
  for (int i = 0; i < 400; ++i) {
    char into[10];
    const std::int64_t got = disk.read(file, into, 0);
    ASSERT_TRUE(got > 0 && got <= 10);
  }
  EXPECT_NEAR(static_cast<double>(disk.counts().short_reads), 200, 60);
  EXPECT_NEAR(whole, 150, 60);
  EXPECT_NEAR(static_cast<double>(disk.counts().read_errors), 200, 60);
  EXPECT_NEAR(static_cast<double>(disk.counts().write_errors), 100, 50);
  EXPECT_NEAR(static_cast<double>(disk.counts().short_writes), 150, 60);
}

TEST(SimDisk, is_full_at_its_capacity) {
  Disk disk(1, {.capacity_bytes = 1000});
  const int a = disk.open("/a", true);
  const int b = disk.open("/b", true);
  EXPECT_EQ(disk.write(a, bytes(600), 0), 600);
  EXPECT_EQ(disk.write(b, bytes(600), 0), 400);
  EXPECT_EQ(disk.write(b, bytes(200), 400), -ENOSPC);
  EXPECT_EQ(disk.write(b, bytes(400), 0), 400) << "what is there may be written again";
  EXPECT_EQ(disk.truncate(b, 401), -ENOSPC);
  EXPECT_EQ(disk.truncate(a, 0), 0);
  EXPECT_EQ(disk.write(b, bytes(600), 400), 600);
  EXPECT_EQ(disk.counts().full, 3u);
}

TEST(SimDisk, loses_power_within_the_change_that_was_named) {
  Disk disk(3);
  const int file = make_synced(disk, "/a", "one");
  disk.power_off_after(2);
  EXPECT_EQ(disk.write(file, "two", 0), 3);
  EXPECT_TRUE(disk.is_on());

  EXPECT_EQ(disk.sync(file), -EIO);

  EXPECT_FALSE(disk.is_on());
  char into[3];
  EXPECT_EQ(disk.read(file, into, 0), -EIO);
  EXPECT_EQ(disk.open("/a", false), -EIO);
  EXPECT_EQ(disk.find("/a"), -EIO);
  disk.power_on();
  EXPECT_EQ(disk.size(file), -EIO) << "a descriptor of before";
  disk.close(file);
  EXPECT_EQ(content(disk, "/a").size(), 3u);
}

std::uint64_t hash_of_a_life(std::uint64_t seed) {
  Disk disk(seed, DiskFaults::faulty(seed));
  for (int i = 0; i < 100; ++i) {
    const int file = disk.open("/a", true);
    if (file < 0) continue;
    (void)disk.write(file, bytes(10'000), static_cast<std::uint64_t>(i) * 100);
    if (i % 3 == 0) (void)disk.sync(file);
    disk.close(file);
    if (i % 5 == 0) lose_power(disk);
  }
  disk.set_faults({});
  (void)content(disk, "/a");
  return disk.trace_hash();
}

TEST(SimDisk, does_the_same_for_the_same_seed_and_another_thing_for_another) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::uint64_t hash = hash_of_a_life(seed);
    EXPECT_EQ(hash, hash_of_a_life(seed));
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 50u);
}

}  // namespace
}  // namespace keel::sim::disk_test
