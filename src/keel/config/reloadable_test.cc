#include "keel/config/reloadable.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace keel::config::reloadable_test {
namespace {

struct Shelf {
  std::string name = "shelf";
  unsigned books = 1;
  Secret key;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "name", name, "what it is called");
    field(v, "books", books, "on it").reloadable();
    field(v, "key", key, "to its lock");
  }
};

struct Store {
  unsigned limit = 10;
  Duration patience = 1_s;
  Secret password;
  std::string path = "store.db";
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "limit", limit, "how much", {1, 100}).reloadable();
    field(v, "patience", patience, "how long").reloadable();
    field(v, "password", password, "of the store").reloadable();
    field(v, "path", path, "where it is");
  }
};

struct Shop {
  Store store;
  unsigned doors = 2;
  double share = 0.5;
  std::vector<std::string> words;
  std::vector<Shelf> shelves;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "store", store, "the store");
    field(v, "doors", doors, "how many");
    field(v, "share", share, "of all").reloadable();
    field(v, "words", words, "any").reloadable();
    field(v, "shelves", shelves, "in order");
  }
  void check(Checks& checks) const {
    if (store.limit < doors) checks.refuse("store.limit", "is below doors");
  }
};

class ReloadableShop : public ::testing::Test {
 protected:
  ReloadableShop() {
    char name[] = "/tmp/keel-reloadable-XXXXXX";
    const int fd = mkstemp(name);
    close(fd);
    file_ = name;
  }
  ~ReloadableShop() override { std::remove(file_.c_str()); }

  void write(const std::string& yaml) {
    std::FILE* file = std::fopen(file_.c_str(), "wb");
    std::fwrite(yaml.data(), 1, yaml.size(), file);
    std::fclose(file);
  }
  Reloadable<Shop> load(const std::string& yaml, std::vector<const char*> args = {}) {
    write(yaml);
    return Reloadable<Shop>::load({.file = file_, .args = args, .environment = environment_}).value();
  }
  // "path before after" with a star for what was applied.
  static std::vector<std::string> told(const std::vector<Change>& changes) {
    std::vector<std::string> lines;
    for (const Change& c : changes) {
      lines.push_back(c.path + ": " + c.before + " -> " + c.after + (c.is_applied ? " *" : ""));
    }
    return lines;
  }
  using Lines = std::vector<std::string>;

  std::string file_;
  const char* environment_[2] = {nullptr, nullptr};
};

TEST_F(ReloadableShop, takes_over_what_is_reloadable_and_reports_the_rest) {
  auto config = load("store:\n  limit: 20\n  path: a.db\ndoors: 3\n");
  const Shop& at_start = *config;

  write("# moved\nstore:\n  path: b.db\n  limit: 30\n  patience: 5ms\ndoors: 4\nshare: 0.25\n");
  const auto changes = config.reload();

  ASSERT_TRUE(changes.is_ok()) << changes.error().message();
  EXPECT_EQ(told(*changes), (Lines{"store.limit: 20 -> 30 *", "store.patience: 1s -> 5ms *", "store.path: a.db -> b.db",
                                   "doors: 3 -> 4", "share: 0.5 -> 0.25 *"}));
  EXPECT_EQ((*changes)[0].origin, file_ + ":4");
  EXPECT_EQ((*changes)[3].origin, file_ + ":6");
  EXPECT_EQ(config->store.limit, 30u);
  EXPECT_EQ(config->store.patience, 5_ms);
  EXPECT_EQ(config->store.path, "a.db");
  EXPECT_EQ(config->doors, 3u);
  EXPECT_EQ(config.origins().of("store.limit"), file_ + ":4");
  EXPECT_EQ(config.origins().of("doors"), file_ + ":4") << "as it was read";
  EXPECT_EQ(at_start.store.limit, 20u) << "what somebody holds never changes";
}

TEST_F(ReloadableShop, keeps_everything_when_anything_is_wrong) {
  auto config = load("store:\n  limit: 20\n");
  int applied = 0;
  const Applier applier =
      config.on_reload("", [&](const Shop&, const Shop&) -> Result<> { return ++applied, Result<>(); });
  const Shop* const before = &*config;

  const struct {
    const char* yaml;
    std::string message;
  } rows[] = {
      {"store:\n  limit: 30\n  patience: 5\n",
       ":3: store.patience: 5 has no unit: expected a duration with its unit, such as 200ms or 30s, of at least 0s"},
      {"store:\n  limit: 30\n  limt: 5\n", ":3: store.limt: unknown key; did you mean store.limit?"},
      {"store:\n  limit: 101\n", ":2: store.limit: 101 is out of range: expected an integer from 1 to 100"},
      {"store:\n  limit: 1\n", ":2: store.limit: is below doors"},
      {"store: [\n", ":1: is not valid YAML: [ is not closed"},
  };
  for (const auto& row : rows) {
    write(row.yaml);
    const auto changes = config.reload();
    ASSERT_FALSE(changes.is_ok()) << row.yaml;
    EXPECT_EQ(changes.error().message(), file_ + row.message);
  }
  std::remove(file_.c_str());
  const auto changes = config.reload();
  ASSERT_FALSE(changes.is_ok());
  EXPECT_EQ(changes.error().message(), file_ + ": cannot be opened: No such file or directory");

  EXPECT_EQ(applied, 0);
  EXPECT_EQ(&*config, before);
  EXPECT_EQ(config->store.limit, 20u);
}

TEST_F(ReloadableShop, goes_back_to_defaults_with_an_empty_file) {
  auto config = load("store:\n  limit: 20\n");

  write("");
  const auto changes = config.reload();

  ASSERT_TRUE(changes.is_ok()) << changes.error().message();
  EXPECT_EQ(config->store.limit, Shop().store.limit);
}

TEST_F(ReloadableShop, checks_what_will_be_in_force_and_not_only_what_the_file_says) {
  auto config = load("store: {limit: 10}\ndoors: 5\n");

  write("store: {limit: 4}\ndoors: 3\n");  // Right in itself, but doors stays 5.
  const auto changes = config.reload();

  ASSERT_FALSE(changes.is_ok());
  EXPECT_EQ(changes.error().message(),
            "the new values are invalid together with the old values of keys that need a restart: " + file_ +
                ":1: store.limit: is below doors");
  EXPECT_EQ(config->store.limit, 10u);
}

TEST_F(ReloadableShop, reads_every_source_again_in_the_same_order) {
  environment_[0] = "KEEL_SHARE=0.75";
  auto config = load("store: {limit: 5}\nshare: 0.1\n", {"--store.limit=7"});

  write("store: {limit: 6}\nshare: 0.2\n");
  EXPECT_EQ(told(config.reload().value()), Lines());
  EXPECT_EQ(config->store.limit, 7u);

  environment_[0] = "KEEL_SHARE=0.875";
  const auto changes = config.reload().value();
  EXPECT_EQ(told(changes), Lines{"share: 0.75 -> 0.875 *"});
  EXPECT_EQ(changes[0].origin, "KEEL_SHARE");

  environment_[0] = nullptr;
  EXPECT_EQ(told(config.reload().value()), Lines{"share: 0.875 -> 0.2 *"});
}

TEST_F(ReloadableShop, goes_back_to_the_default_of_a_key_that_was_taken_out) {
  auto config = load("store: {limit: 5}\nshare: 0.1\n");

  write("store: {limit: 5}\n");
  const auto changes = config.reload().value();

  EXPECT_EQ(told(changes), Lines{"share: 0.1 -> 0.5 *"});
  EXPECT_EQ(changes[0].origin, "default");
  EXPECT_EQ(config.origins().of("share"), "default");
}

TEST_F(ReloadableShop, compares_lists_by_their_elements_or_as_a_whole) {
  auto config = load("words: [a, b]\nshelves: [{books: 3}, {name: x}]\n");

  write("words: [a, c]\nshelves: [{books: 4}, {name: y}]\n");
  EXPECT_EQ(told(config.reload().value()),
            (Lines{"words.1: b -> c *", "shelves.0.books: 3 -> 4 *", "shelves.1.name: x -> y"}));
  EXPECT_EQ(config->shelves[0].books, 4u);
  EXPECT_EQ(config->shelves[1].name, "x");

  write("words: []\nshelves: [{name: z, key: hush}]\n");
  EXPECT_EQ(told(config.reload().value()),
            (Lines{"words: [a, c] -> [] *",
                   "shelves: [{name: shelf, books: 4, key: \"\"}, {name: x, books: 1, key: \"\"}] -> "
                   "[{name: z, books: 1, key: \"***\"}]"}));
  EXPECT_TRUE(config->words.empty());
  EXPECT_EQ(config->shelves.size(), 2u);
}

TEST_F(ReloadableShop, never_tells_a_secret) {
  auto config = load("store: {password: first-hush}\n");

  write("store: {password: second-hush}\n");
  const auto changes = config.reload().value();

  ASSERT_EQ(told(changes), Lines{"store.password: \"***\" -> \"***\" *"});
  EXPECT_EQ(config->store.password.reveal(), "second-hush");
  EXPECT_EQ(config.describe().find("hush"), std::string::npos) << config.describe();
}

TEST_F(ReloadableShop, calls_the_appliers_of_what_changed_in_their_order) {
  auto config = load("doors: 2\n");
  Lines calls;
  const auto note = [&](const char* name) {
    return [&calls, name](const Shop& now, const Shop& before) -> Result<> {
      calls.push_back(std::string(name) + " " + std::to_string(before.store.limit) + " " +
                      std::to_string(now.store.limit));
      return {};
    };
  };
  const Applier all = config.on_reload("", note("all"));
  const Applier limit = config.on_reload("store.limit", note("limit"));
  const Applier share = config.on_reload("share", note("share"));
  const Applier store = config.on_reload("store", note("store"));
  {
    const Applier gone = config.on_reload("", note("gone"));
  }

  write("store: {limit: 11}\n");
  ASSERT_TRUE(config.reload().is_ok());
  EXPECT_EQ(calls, (Lines{"all 10 11", "limit 10 11", "store 10 11"}));

  calls.clear();
  write("store: {limit: 11}\ndoors: 3\n");
  ASSERT_TRUE(config.reload().is_ok());
  EXPECT_EQ(calls, Lines()) << "what needs a restart is not applied";

  write("\n# nothing but the place\nstore: {limit: 11}\ndoors: 3\n");
  ASSERT_TRUE(config.reload().is_ok());
  EXPECT_EQ(calls, Lines());
  EXPECT_EQ(config.origins().of("store.limit"), file_ + ":3");
}

TEST_F(ReloadableShop, rolls_back_when_an_applier_fails) {
  auto config = load("store: {limit: 10}\n");
  Lines calls;
  bool fails = true;
  unsigned first_has = 10;
  unsigned second_has = 10;
  const Applier first = config.on_reload("store", [&](const Shop& now, const Shop&) -> Result<> {
    calls.push_back("first");
    first_has = now.store.limit;
    return {};
  });
  const Applier second = config.on_reload("store", [&](const Shop& now, const Shop&) -> Result<> {
    calls.push_back("second");
    second_has = now.store.limit;
    return {};
  });
  const Applier third = config.on_reload("store", [&](const Shop&, const Shop&) -> Result<> {
    calls.push_back("third");
    if (fails) return fail(Code::Unavailable, "the store is shut");
    return {};
  });
  const Applier fourth = config.on_reload("store", [&](const Shop&, const Shop&) -> Result<> {
    calls.push_back("fourth");
    return {};
  });
  const Shop* const before = &*config;

  write("store: {limit: 20}\n");
  const auto changes = config.reload();

  ASSERT_FALSE(changes.is_ok());
  EXPECT_EQ(changes.error().message(), "the store is shut");
  EXPECT_EQ(changes.error().code(), Code::Unavailable);
  EXPECT_EQ(calls, (Lines{"first", "second", "third", "second", "first"}));
  EXPECT_EQ(first_has, 10u);
  EXPECT_EQ(second_has, 10u);
  EXPECT_EQ(&*config, before);

  fails = false;
  EXPECT_EQ(told(config.reload().value()), Lines{"store.limit: 10 -> 20 *"}) << "the same file, later";
  EXPECT_EQ(first_has, 20u);
  EXPECT_EQ(config->store.limit, 20u);
}

TEST_F(ReloadableShop, says_what_could_not_be_rolled_back) {
  auto config = load("store: {limit: 10}\n");
  const Applier first = config.on_reload("store", [](const Shop& now, const Shop&) -> Result<> {
    if (now.store.limit == 10) return fail(Code::Internal, "no way back");
    return {};
  });
  const Applier second = config.on_reload(
      "store", [](const Shop&, const Shop&) -> Result<> { return fail(Code::Unavailable, "the store is shut"); });

  write("store: {limit: 20}\n");
  const auto changes = config.reload();

  ASSERT_FALSE(changes.is_ok());
  EXPECT_EQ(changes.error().message(), "the store is shut\nrolling back \"store\": no way back");
}

TEST_F(ReloadableShop, describes_what_is_in_force_and_what_waits_for_a_restart) {
  auto config = load("doors: 3\n");
  EXPECT_NE(config.describe().find("\ndoors: 3                                  # " + file_ + ":1\n"),
            std::string::npos)
      << config.describe();
  EXPECT_NE(config.describe().find("  limit: 10                               # default, reloadable\n"),
            std::string::npos);

  write("\ndoors: 4\n");
  ASSERT_TRUE(config.reload().is_ok());
  EXPECT_TRUE(config.describe().starts_with("# doors waits for a restart: 4 (" + file_ + ":2)\nstore:\n"))
      << config.describe();
  EXPECT_NE(config.describe().find("\ndoors: 3 "), std::string::npos);

  write("\ndoors: 3\n");
  EXPECT_EQ(told(config.reload().value()), Lines());
  EXPECT_TRUE(config.describe().starts_with("store:\n")) << "it no longer waits";
}

TEST_F(ReloadableShop, made_by_the_program_has_nothing_to_load_from) {
  Shop shop;
  shop.doors = 7;
  Reloadable<Shop> config(shop);

  EXPECT_EQ(config->doors, 7u);
  EXPECT_EQ(told(config.reload().value()), Lines());
}

TEST_F(ReloadableShop, is_read_by_other_threads_during_reloads) {
  auto config = load("store: {limit: 10}\nshare: 0.1\n");
  std::atomic<bool> done = false;
  std::atomic<int> torn = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const Shop& now = *config;
        if (now.store.limit != static_cast<unsigned>(now.share * 100)) ++torn;
        if (config.describe().empty()) ++torn;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    write(i % 2 == 0 ? "store: {limit: 25}\nshare: 0.25\n" : "store: {limit: 50}\nshare: 0.5\n");
    EXPECT_TRUE(config.reload().is_ok());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
}

// Each reader tells when it has ended what it was reading, as a worker does that comes round.
TEST_F(ReloadableShop, overwrites_a_replaced_secret_beside_threads_that_read_it) {
  auto config = load("store: {password: even}\n");
  const Shop& first = *config;
  std::atomic<bool> done = false;
  std::atomic<int> torn = 0;
  std::atomic<int> rounds[2] = {0, 0};
  std::vector<std::thread> readers;
  for (std::atomic<int>& round : rounds) {
    readers.emplace_back([&] {
      while (!done) {
        const std::string_view password = config->store.password.reveal();
        const std::string_view before = first.store.password.reveal();
        const std::string copies[] = {std::string(password), std::string(before)};
        std::this_thread::yield();
        if (copies[0] != password || copies[1] != before) ++torn;
        round.fetch_add(1, std::memory_order_release);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    write(i % 2 == 0 ? "store: {password: odd!}\n" : "store: {password: even}\n");
    const auto changes = config.reload([&](Function<void()> overwrite) {
      for (const std::atomic<int>& round : rounds) {
        const int then = round.load(std::memory_order_acquire);
        // It began the first of these before the reload's end, perhaps.
        while (round.load(std::memory_order_acquire) < then + 2) std::this_thread::yield();
      }
      overwrite();
    });
    EXPECT_EQ(changes.value().size(), 1u);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0) << "what was revealed changes only after the reader has gone on";
}

TEST(ReloadableDeathTest, refuses_a_path_that_does_not_exist) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  Reloadable<Shop> config{Shop()};
  const auto apply = [](const Shop&, const Shop&) { return Result<>(); };

  EXPECT_DEATH((void)config.on_reload("store.limt", apply), "the path of an applier must name a key or a section");
  EXPECT_DEATH((void)config.on_reload("stor", apply), "the path of an applier must name a key or a section");
}

}  // namespace
}  // namespace keel::config::reloadable_test
