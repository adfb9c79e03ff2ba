#include "keel/config/secret.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/sanitizers.h"
#include "keel/config/config.h"
#include "keel/config/reloadable.h"

namespace keel::config::secret_test {
namespace {

struct Key {
  std::string name;
  Secret key;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "name", name, "whose");
    field(v, "key", key, "of an upstream");
  }
};

struct Shop {
  std::string name = "shop";
  Secret password;
  Secret token;
  std::vector<Key> keys;
  std::map<std::string, Key> peers;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "name", name, "what it is called");
    field(v, "password", password, "of the store").reloadable();
    field(v, "token", token, "of the payments");
    field(v, "keys", keys, "of upstreams").reloadable();
    field(v, "peers", peers, "by name").reloadable();
  }
};

class Secrets : public ::testing::Test {
 protected:
  Secrets() {
    char name[] = "/tmp/keel-secret-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Secrets() override { EXPECT_EQ(std::system(("rm -r " + folder_).c_str()), 0); }

  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  std::string write(std::string_view name, std::string_view text, mode_t mode = 0400) const {
    const std::string at = path(name);
    ::unlink(at.c_str());
    const int fd = ::open(at.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(::fchmod(fd, mode), 0);
    ::close(fd);
    return at;
  }
  Result<Shop> load(const std::string& yaml, std::vector<const char*> args = {},
                    std::vector<const char*> variables = {}) {
    variables.push_back(nullptr);
    return config::load<Shop>(
        {.file = write("shop.yaml", yaml, 0600), .args = args, .environment = variables.data(), .origins = &origins_});
  }
  // What loading says, with the folder as ~.
  std::string problem(const std::string& yaml, std::vector<const char*> args = {},
                      std::vector<const char*> variables = {}) {
    const auto loaded = load(yaml, std::move(args), std::move(variables));
    std::string text(loaded ? std::string_view("loaded") : loaded.error().message());
    for (std::size_t at; (at = text.find(folder_)) != std::string::npos;) text.replace(at, folder_.size(), "~");
    return text;
  }

  std::string folder_;
  Origins origins_;
};

// Whether `text` lies anywhere in this process's memory, but in the caller's own `text`, which is `inverted` there.
int copies_in_memory(std::string_view inverted) {
  std::string text(inverted);
  std::ifstream maps("/proc/self/maps");
  const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  int found = 0;
  std::vector<char> page(1 << 16);
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
    if (access[0] != 'r' || access[1] != 'w' || end - begin > (1UL << 28)) continue;
    std::size_t matched = 0;
    for (unsigned long at = begin; at < end; at += page.size()) {
      const auto got =
          ::pread(memory, page.data(), std::min<std::size_t>(page.size(), end - at), static_cast<off_t>(at));
      for (ssize_t i = 0; i < got; ++i) {
        const bool goes_on = page[static_cast<std::size_t>(i)] == static_cast<char>(~text[matched]);
        matched = goes_on ? matched + 1 : page[static_cast<std::size_t>(i)] == static_cast<char>(~text[0]) ? 1 : 0;
        if (matched < text.size()) continue;
        ++found;
        matched = 0;
      }
    }
    std::memset(page.data(), 0, page.size());
  }
  ::close(memory);
  return found;
}
std::string inverted(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(~c);
  return out;
}
// A file with the inverse of `inverted_text`, made without that text in memory for longer than one character.
void write_plain(const std::string& path, std::string_view inverted_text) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  for (const char c : inverted_text) {
    const char plain = static_cast<char>(~c);
    ASSERT_EQ(::write(fd, &plain, 1), 1);
  }
  ::close(fd);
}

TEST_F(Secrets, are_read_from_the_file_that_their_file_key_names) {
  write("password", "open sesame\n");
  write("token", "two lines\n\n");
  write("key", "no line feed");
  write("windows", "CR and LF\r\n");
  const std::string password = "KEEL_PASSWORD_FILE=" + path("password");
  const std::string token = "--token_file=" + path("token");

  const auto shop =
      load("keys: [{name: a, key_file: " + path("key") + "}]\npeers: {b: {key_file: " + path("windows") + "}}\n",
           {token.c_str()}, {password.c_str()});

  ASSERT_TRUE(shop.is_ok()) << shop.error().message();
  EXPECT_EQ(shop->password.reveal(), "open sesame");
  EXPECT_EQ(shop->token.reveal(), "two lines\n") << "one line feed is the editor's, and no more";
  EXPECT_EQ(shop->keys.at(0).key.reveal(), "no line feed");
  EXPECT_EQ(shop->peers.at("b").key.reveal(), "CR and LF");
  EXPECT_EQ(origins_.of("password"), "KEEL_PASSWORD_FILE");
  EXPECT_TRUE(origins_.warnings().empty());
}

TEST_F(Secrets, whose_file_key_is_misspelt_are_not_suggested_in_its_place) {
  const std::string misspelt = "--password_fil=" + path("password");
  const auto shop = load("", {misspelt.c_str()});
  ASSERT_FALSE(shop);
  EXPECT_EQ(shop.error().describe(), "--password_fil: unknown key; did you mean --password_file?");
}

TEST_F(Secrets, from_a_file_are_described_by_its_path_and_load_again) {
  const std::string file = write("password", "hush\n");
  const auto shop = load("password_file: " + file + "\nkeys: [{key_file: " + file + "}]\n");
  ASSERT_TRUE(shop.is_ok()) << shop.error().message();

  const std::string text = describe(*shop, origins_);

  EXPECT_EQ(text.find("hush"), std::string::npos) << text;
  EXPECT_EQ(text.find("***"), std::string::npos) << text;
  EXPECT_NE(text.find("\npassword_file: " + file), std::string::npos) << text;
  EXPECT_NE(text.find("    key_file: " + file), std::string::npos) << text;
  EXPECT_NE(text.find("shop.yaml:1, reloadable"), std::string::npos) << text;
  const auto again = load(text);
  ASSERT_TRUE(again.is_ok()) << again.error().message();
  EXPECT_EQ(again->password.reveal(), "hush");
}

// systemd.exec(5), LoadCredential=
TEST_F(Secrets, are_found_in_the_credentials_folder_of_systemd) {
  write("password", "hush\n");
  const std::string folder = "CREDENTIALS_DIRECTORY=" + folder_;

  const auto shop = load("password_file: $CREDENTIALS_DIRECTORY/password\n", {}, {folder.c_str()});

  ASSERT_TRUE(shop.is_ok()) << shop.error().message();
  EXPECT_EQ(shop->password.reveal(), "hush");
  EXPECT_EQ(problem("password_file: $CREDENTIALS_DIRECTORY/password\n"),
            "~/shop.yaml:1: password_file: $CREDENTIALS_DIRECTORY/password: there is no variable "
            "CREDENTIALS_DIRECTORY, which systemd sets for a unit with LoadCredential=");
}

TEST_F(Secrets, given_twice_are_refused_with_both_places) {
  const std::string file = write("password", "hush\n");
  const std::string flag = "--password_file=" + file;

  EXPECT_EQ(problem("name: x\npassword: hush\n", {flag.c_str()}),
            "--password_file: is given together with password (~/shop.yaml:2): remove one of the two");
  EXPECT_EQ(problem("password_file: " + file + "\n", {}, {"KEEL_PASSWORD=hush"}),
            "~/shop.yaml:1: password_file: is given together with password (KEEL_PASSWORD): remove one of the two");
  EXPECT_EQ(problem("keys: [{key: hush, key_file: " + file + "}]\n"),
            "~/shop.yaml:1: keys.0.key_file: is given together with keys.0.key (~/shop.yaml:1): remove one of the two");
}

TEST_F(Secrets, whose_file_is_no_good_are_refused_with_the_path_and_the_cure) {
  const auto with = [&](const std::string& file) { return problem("password_file: " + file + "\n"); };
  const std::string at = "~/shop.yaml:1: password_file: ~/";

  EXPECT_EQ(with(path("none")),
            at + "none cannot be opened: No such file or directory; name a file that this process may read");
  EXPECT_EQ(with(write("group", "hush", 0660)),
            at + "group can be written by users other than its owner: chmod go-w ~/group");
  EXPECT_EQ(with(write("all", "hush", 0602)),
            at + "all can be written by users other than its owner: chmod go-w ~/all");
  EXPECT_EQ(with(write("empty", "\n")), at + "empty is empty: write the secret into it");
  EXPECT_EQ(with(write("large", std::string(Secret::file_bytes_max + 1, 'x'))),
            at + "large has more than 64 KiB: name a file that contains only the secret");
  EXPECT_EQ(with(write("most", std::string(Secret::file_bytes_max, 'x'))), "loaded");
  EXPECT_EQ(with(write("container", "hush", 0444)), "loaded") << "as those of containers are";
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(with(path("pipe")), at + "pipe is not a regular file; only a regular file can be read again");
  EXPECT_EQ(problem("password_file: ''\n"),
            "~/shop.yaml:1: password_file: names no file: expected the path of the file that holds the secret");
  EXPECT_EQ(problem("name_file: x\n"),
            "~/shop.yaml:1: name_file: unknown key: expected one of name, password, token, keys, peers");
}

TEST_F(Secrets, on_the_command_line_are_warned_about) {
  const auto shop = load("", {"--password=hush", "--keys=[{key: hush}]"}, {"KEEL_TOKEN=hush"});

  ASSERT_TRUE(shop.is_ok()) << shop.error().message();
  ASSERT_EQ(origins_.warnings().size(), 2u);
  EXPECT_EQ(origins_.warnings()[0],
            "--password: a secret on the command line can be read by every user of this machine (/proc/" +
                std::to_string(::getpid()) + "/cmdline): give --password_file instead, or the variable KEEL_PASSWORD");
  EXPECT_NE(origins_.warnings()[1].find("give --keys.0.key_file instead"), std::string::npos);
}

TEST_F(Secrets, are_read_again_by_a_reload_which_tells_none) {
  const std::string file = write("password", "first-hush\n");
  const char* const none[] = {nullptr};
  auto config =
      Reloadable<Shop>::load({.file = write("shop.yaml", "password_file: " + file + "\n"), .environment = none})
          .value();

  write("password", "second-hush\n");
  const auto changes = config.reload();

  ASSERT_TRUE(changes.is_ok()) << changes.error().message();
  ASSERT_EQ(changes->size(), 1u);
  EXPECT_EQ(changes->front().path + changes->front().before + changes->front().after, "password\"***\"\"***\"");
  EXPECT_EQ(config->password.reveal(), "second-hush");

  ::unlink(file.c_str());
  EXPECT_FALSE(config.reload().is_ok());
  EXPECT_EQ(config->password.reveal(), "second-hush") << "a mistake changes nothing";
}

TEST_F(Secrets, that_a_reload_has_replaced_are_in_no_configuration_before) {
  const std::string file = write("shop.yaml", "password: first\ntoken: stays\nkeys: [{key: first-key}]\n");
  const char* const none[] = {nullptr};
  auto config = Reloadable<Shop>::load({.file = file, .environment = none}).value();
  const Shop& before = *config;
  const auto applier = config.on_reload("password", [&](const Shop&, const Shop& old) -> Result<> {
    EXPECT_EQ(old.password.reveal(), "first") << "appliers see both";
    return {};
  });

  write("shop.yaml", "password: second\ntoken: other\nkeys: [{key: first-key}, {key: added}]\n");
  ASSERT_TRUE(config.reload().is_ok());

  EXPECT_NE(before.password.reveal(), "first");
  EXPECT_EQ(before.password.reveal().size(), 5u) << "nor empty, which something empty would be equal to";
  EXPECT_EQ(before.token.reveal(), "stays") << "it needs a restart, and is in force";
  EXPECT_EQ(before.keys.at(0).key.reveal(), "first-key");
  EXPECT_EQ(config->password.reveal(), "second");
}

TEST_F(Secrets, that_a_reload_has_replaced_are_whole_for_those_who_still_read_them) {
  const std::string file = write("shop.yaml", "password: first\nkeys: [{key: first-key}]\n");
  const char* const none[] = {nullptr};
  auto config = Reloadable<Shop>::load({.file = file, .environment = none}).value();
  const Shop& before = *config;
  const std::string_view password = before.password.reveal();
  const std::string_view key = before.keys.at(0).key.reveal();
  std::vector<Function<void()>> readers;
  const auto later = [&](Function<void()> overwrite) { readers.push_back(std::move(overwrite)); };

  write("shop.yaml", "password: second\nkeys: [{key: second-key}]\n");
  ASSERT_TRUE(config.reload(later).is_ok());

  EXPECT_EQ(password, "first");
  EXPECT_EQ(key, "first-key");
  EXPECT_NE(before.password.reveal(), "first") << "which begins to read sees it no more";
  EXPECT_EQ(before.password.reveal().size(), 5u);

  write("shop.yaml", "password: second\nkeys: [{key: second-key}, {key: added}]\n");
  ASSERT_TRUE(config.reload(later).is_ok());
  ASSERT_EQ(readers.size(), 1u) << "a reload that replaces no secret waits for nobody";

  readers[0]();
  EXPECT_NE(password, "first");
  EXPECT_NE(key, "first-key");
  EXPECT_EQ(config->password.reveal(), "second");
}

TEST_F(Secrets, that_nobody_has_overwritten_end_with_the_configuration) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer keeps memory that was freed";
  const std::string marker = inverted("another-secret-of-this-test-and-no-other");
  write_plain(path("password"), marker);
  const char* const none[] = {nullptr};
  {
    auto config = Reloadable<Shop>::load(
                      {.file = write("shop.yaml", "password_file: " + path("password") + "\n"), .environment = none})
                      .value();
    write_plain(path("password"), "next-hush\n");
    ASSERT_TRUE(config.reload([](const Function<void()>&) {}).is_ok());
    EXPECT_EQ(copies_in_memory(marker), 1);
  }
  EXPECT_EQ(copies_in_memory(marker), 0);
}

TEST_F(Secrets, leave_nothing_in_memory) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer keeps memory that was freed";
  const std::string marker = inverted("a-secret-of-this-test-and-no-other");
  const std::string next = inverted("the-one-after-it-in-this-same-test");
  write_plain(path("password"), marker);
  const char* const none[] = {nullptr};
  {
    auto config = Reloadable<Shop>::load(
                      {.file = write("shop.yaml", "password_file: " + path("password") + "\n"), .environment = none})
                      .value();
    EXPECT_EQ(copies_in_memory(marker), 1) << "the one in force; this also shows that the search finds it";
    write_plain(path("password"), next);
    ASSERT_TRUE(config.reload().is_ok());
    EXPECT_EQ(copies_in_memory(marker), 0);
    EXPECT_EQ(copies_in_memory(next), 1);
    Secret copy = config->password;
    EXPECT_EQ(copies_in_memory(next), 2);
    const Secret moved = std::move(copy);
    EXPECT_EQ(copies_in_memory(next), 2);
  }
  EXPECT_EQ(copies_in_memory(next), 0);
}

TEST(Secret, lies_in_pages_that_no_core_dump_has) {
  const Secret secret("short");
  std::ifstream maps("/proc/self/smaps");
  bool is_inside = false;
  std::string flags;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<unsigned long>(secret.reveal().data());
      is_inside = begin <= at && at < end;
    } else if (is_inside && line.starts_with("VmFlags:")) {
      flags = line;
    }
  }
  EXPECT_NE(flags.find(" dd"), std::string::npos) << flags;  // proc(5): do not include area into core dump
}

TEST(Secret, is_taken_out_and_leaves_as_many_random_bytes) {
  Secret secret("a-secret-of-some-length");
  const std::string_view shown = secret.reveal();

  const Secret taken = secret.take();

  EXPECT_EQ(taken.reveal().data(), shown.data());
  EXPECT_EQ(shown, "a-secret-of-some-length");
  EXPECT_EQ(secret.reveal().size(), shown.size());
  EXPECT_NE(secret.reveal(), shown);
  Secret none;
  EXPECT_TRUE(none.take().empty());
  EXPECT_TRUE(none.empty());
}

TEST(Secret, is_copied_moved_and_replaced_as_text_is) {
  Secret one("one");
  Secret two = one;
  one = Secret("another");
  EXPECT_EQ(two.reveal(), "one");
  EXPECT_EQ(one.reveal(), "another");
  two = std::move(one);
  EXPECT_EQ(two.reveal(), "another");
  Secret three = std::move(two);
  EXPECT_TRUE(two.empty());  // NOLINT(bugprone-use-after-move): moved from is empty.
  three = Secret();
  EXPECT_TRUE(three.empty());
  EXPECT_EQ(three.reveal(), "");
}

}  // namespace
}  // namespace keel::config::secret_test
