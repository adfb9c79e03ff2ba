#include "keel/config/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "keel/data/date.h"
#include "keel/data/decimal.h"
#include "keel/data/timestamp.h"

namespace keel::config::config_test {
namespace {

enum class Colour { Red, Blue };
constexpr auto colour_names = names<Colour>({{"red", Colour::Red}, {"blue", Colour::Blue}});

struct Sink {
  std::string path = "out.log";
  unsigned level = 3;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "path", path, "where it goes");
    field(v, "level", level, "how much of it", {0, 9});
  }
};

struct Http {
  std::uint16_t port = 8080;
  bool keep_alive = true;
  Duration timeout = 30_s;
  Duration idle = 1_min;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "port", port, "port to listen on", {1, 65535});
    field(v, "keep_alive", keep_alive, "between requests");
    field(v, "timeout_sec", timeout, "for a request", {1_s, 1_h});
    field(v, "idle", idle, "between requests");
  }
};

struct Network {
  Http http;
  ByteSize buffer = ByteSize::kib(16);
  ByteSize body = ByteSize::mib(1);
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "http", http, "the server");
    field(v, "buffer_kb", buffer, "per connection");
    field(v, "max_body", body, "per request", {ByteSize{0}, ByteSize::mib(64)});
  }
};

struct Service {
  Network network;
  std::string name = "service";
  double rate = 1;
  std::int64_t offset = -5;
  Colour colour = Colour::Red;
  Secret password;
  std::vector<Sink> sinks = std::vector<Sink>(1);
  std::vector<std::string> tags;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "network", network, "the network");
    field(v, "name", name, "what it is called");
    field(v, "rate", rate, "share", {0, 1});
    field(v, "offset", offset, "any integer");
    field(v, "colour", colour, "of the bike shed", colour_names);
    field(v, "password", password, "of the store");
    field(v, "sinks", sinks, "where lines go");
    field(v, "tags", tags, "words");
  }
  void check(Checks& checks) const {
    if (name == "forbidden") checks.refuse("name", "must be another one");
    if (rate == 0.5 && colour == Colour::Red) checks.refuse("colour", "does not go with half a rate");
  }
};

struct Directory {
  std::string name = "directory";
  std::map<std::string, Http> clients;
  template <class Visitor>
  void fields(Visitor& v) {
    field(v, "name", name, "what it is called");
    field(v, "clients", clients, "by name");
  }
};

// A file in a folder of its own, which the tests enter: messages name it as the user would.
class Config : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/keel-config-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    ASSERT_NE(getcwd(before_, sizeof before_), nullptr);
    ASSERT_EQ(chdir(name), 0);
  }
  void TearDown() override {
    std::remove("service.yaml");
    EXPECT_EQ(chdir(before_), 0);
    rmdir(folder_.c_str());
  }

  template <class T = Service>
  Result<T> load(const std::string& yaml, std::vector<const char*> args = {}, std::vector<const char*> variables = {}) {
    std::FILE* file = std::fopen("service.yaml", "wb");
    std::fwrite(yaml.data(), 1, yaml.size(), file);
    std::fclose(file);
    return load_from<T>("service.yaml", std::move(args), std::move(variables));
  }
  template <class T = Service>
  Result<T> load_from(const std::string& file, std::vector<const char*> args = {},
                      std::vector<const char*> variables = {}) {
    variables.push_back(nullptr);
    return config::load<T>({.file = file, .args = args, .environment = variables.data(), .origins = &origins_});
  }
  template <class T = Service>
  std::string error(const std::string& yaml, std::vector<const char*> args = {},
                    std::vector<const char*> variables = {}) {
    const auto loaded = load<T>(yaml, std::move(args), std::move(variables));
    if (loaded) return "loaded";
    EXPECT_EQ(loaded.error().code(), Code::InvalidArgument);
    return std::string(loaded.error().message());
  }

  Origins origins_;

 private:
  std::string folder_;
  char before_[4096];
};

TEST_F(Config, defaults_hold_without_any_source) {
  const auto service = load_from("");

  ASSERT_TRUE(service.is_ok());
  EXPECT_EQ(service->network.http.port, 8080);
  EXPECT_EQ(origins_.of("network.http.port"), "default");
  EXPECT_FALSE(origins_.is_set("network"));
}

TEST_F(Config, a_file_gives_every_type_of_value) {
  const auto service = load(
      "network:\n"
      "  http:\n"
      "    port: 81\n"
      "    keep_alive: false\n"
      "    timeout_sec: 2.5\n"
      "    idle: 200ms\n"
      "  buffer_kb: 4\n"
      "  max_body: 64KiB\n"
      "name: 'a name: with signs'\n"
      "rate: 0.25\n"
      "offset: -70000000000\n"
      "colour: blue\n"
      "password: hush\n"
      "sinks:\n"
      "  - path: a.log\n"
      "  - level: 9\n"
      "tags: [one, no, \"3\"]\n");

  ASSERT_TRUE(service.is_ok()) << service.error().message();
  EXPECT_EQ(service->network.http.port, 81);
  EXPECT_FALSE(service->network.http.keep_alive);
  EXPECT_EQ(service->network.http.timeout, 2500_ms);
  EXPECT_EQ(service->network.http.idle, 200_ms);
  EXPECT_EQ(service->network.buffer, ByteSize::kib(4));
  EXPECT_EQ(service->network.body, ByteSize::kib(64));
  EXPECT_EQ(service->name, "a name: with signs");
  EXPECT_EQ(service->rate, 0.25);
  EXPECT_EQ(service->offset, -70'000'000'000);
  EXPECT_EQ(service->colour, Colour::Blue);
  EXPECT_EQ(service->password.reveal(), "hush");
  ASSERT_EQ(service->sinks.size(), 2u);
  EXPECT_EQ(service->sinks[0].path, "a.log");
  EXPECT_EQ(service->sinks[1].path, "out.log");
  EXPECT_EQ(service->sinks[1].level, 9u);
  EXPECT_EQ(service->tags, (std::vector<std::string>{"one", "no", "3"}));
}

TEST_F(Config, the_command_line_wins_over_the_environment_over_the_file) {
  const std::string yaml = "network:\n  http:\n    port: 1\n    timeout_sec: 1\n    idle: 1s\nrate: 1\n";

  const auto service = load(yaml, {"--network.http.port=3", "--set", "rate=0.1"},
                            {"KEEL_NETWORK__HTTP__PORT=2", "KEEL_NETWORK__HTTP__TIMEOUT_SEC=2", "PATH=/bin"});

  ASSERT_TRUE(service.is_ok()) << service.error().message();
  EXPECT_EQ(service->network.http.port, 3);
  EXPECT_EQ(service->network.http.timeout, 2_s);
  EXPECT_EQ(service->network.http.idle, 1_s);
  EXPECT_EQ(origins_.of("network.http.port"), "--network.http.port");
  EXPECT_EQ(origins_.of("rate"), "--set rate");
  EXPECT_EQ(origins_.of("network.http.timeout_sec"), "KEEL_NETWORK__HTTP__TIMEOUT_SEC");
  EXPECT_EQ(origins_.of("network.http.idle"), "service.yaml:5");
  EXPECT_EQ(origins_.of("name"), "default");
  EXPECT_TRUE(origins_.is_set("network"));
  EXPECT_FALSE(origins_.is_set("sinks"));
}

TEST_F(Config, a_file_named_on_the_command_line_replaces_the_usual_one) {
  load("name: from-file\n").value();

  const auto service = load_from("absent.yaml", {"--config", "service.yaml"});
  const auto same = load_from("absent.yaml", {"--config=service.yaml"});

  ASSERT_TRUE(service.is_ok()) << service.error().message();
  EXPECT_EQ(service->name, "from-file");
  EXPECT_TRUE(same.is_ok());
}

TEST_F(Config, lists_are_reached_by_place_or_replaced_as_yaml) {
  const auto by_place = load("sinks: [{path: a}]\n", {"--sinks.1.path=c"},
                             {"KEEL_SINKS__0__LEVEL=7", "KEEL_SINKS__1__PATH=b", "KEEL_TAGS__0=x"});
  ASSERT_TRUE(by_place.is_ok()) << by_place.error().message();
  ASSERT_EQ(by_place->sinks.size(), 2u);
  EXPECT_EQ(by_place->sinks[0].path, "a");
  EXPECT_EQ(by_place->sinks[0].level, 7u);
  EXPECT_EQ(by_place->sinks[1].path, "c");
  EXPECT_EQ(by_place->tags, std::vector<std::string>{"x"});

  const auto replaced = load("sinks: [{path: a}]\n", {"--sinks=[{level: 1}, {level: 2}]", "--network={buffer_kb: 2}"});
  ASSERT_TRUE(replaced.is_ok()) << replaced.error().message();
  ASSERT_EQ(replaced->sinks.size(), 2u);
  EXPECT_EQ(replaced->sinks[0].path, "out.log");
  EXPECT_EQ(origins_.of("sinks.0.path"), "default");
  EXPECT_EQ(origins_.of("sinks.0.level"), "--sinks");
  EXPECT_EQ(replaced->network.buffer, ByteSize::kib(2));
}

TEST_F(Config, ten_places_of_a_list_are_appended_in_order) {
  const auto service = load_from(
      "", {},
      {"KEEL_TAGS__10=k", "KEEL_TAGS__2=c", "KEEL_TAGS__0=a", "KEEL_TAGS__1=b", "KEEL_TAGS__3=d", "KEEL_TAGS__4=e",
       "KEEL_TAGS__5=f", "KEEL_TAGS__6=g", "KEEL_TAGS__7=h", "KEEL_TAGS__8=i", "KEEL_TAGS__9=j"});

  ASSERT_TRUE(service.is_ok()) << service.error().message();
  EXPECT_EQ(service->tags.size(), 11u);
  EXPECT_EQ(service->tags.back(), "k");
}

TEST_F(Config, sections_may_have_names_of_the_configurations_choice) {
  const auto service =
      load<Directory>("clients:\n  payments:\n    port: 81\n    timeout_sec: 5\n  mail: {port: 25}\n  empty:\n",
                      {"--clients.payments.port=82", "--clients.search={port: 9200, keep_alive: false}"},
                      {"KEEL_CLIENTS__MAIL__TIMEOUT_SEC=7", "KEEL_CLIENTS__PAY_PAL__PORT=83"});

  ASSERT_TRUE(service.is_ok()) << service.error().message();
  ASSERT_EQ(service->clients.size(), 5u);
  EXPECT_EQ(service->clients.at("payments").port, 82);
  EXPECT_EQ(service->clients.at("payments").timeout, 5_s);
  EXPECT_EQ(service->clients.at("mail").port, 25);
  EXPECT_EQ(service->clients.at("mail").timeout, 7_s);
  EXPECT_EQ(service->clients.at("pay_pal").port, 83);
  EXPECT_FALSE(service->clients.at("search").keep_alive);
  EXPECT_EQ(service->clients.at("empty").port, 8080);
  EXPECT_EQ(origins_.of("clients.payments.port"), "--clients.payments.port");
  EXPECT_EQ(origins_.of("clients.payments.timeout_sec"), "service.yaml:4");
  EXPECT_FALSE(origins_.is_set("clients.payments.keep_alive"));
  const std::string text = describe(*service, origins_);
  EXPECT_NE(text.find("clients:\n  empty: {}\n  mail:\n    port: 25"), std::string::npos) << text;
  EXPECT_EQ(text.find("idle", text.find("clients:")), std::string::npos) << "nobody has said that: " << text;

  EXPECT_NE(help<Directory>().find("\nclients: by name (NAME below stands for a name)\n  --clients.NAME.port=VALUE\n"),
            std::string::npos)
      << help<Directory>();

  EXPECT_EQ(error<Directory>("clients: 7\n"),
            "service.yaml:1: clients: is a single value: expected a section whose keys are names");
  EXPECT_EQ(
      error<Directory>("clients:\n  Pay-Pal: {port: 1}\n"),
      "service.yaml:2: clients.Pay-Pal: \"Pay-Pal\" is not a name: expected lowercase letters, digits and underscores");
  EXPECT_EQ(error<Directory>("name: x", {"--clients.7.port=1"}),
            "--clients.7.port: \"7\" is not a name: expected lowercase letters, digits and underscores");
  EXPECT_EQ(error<Directory>("clients:\n  mail:\n    prot: 1\n"),
            "service.yaml:3: clients.mail.prot: unknown key; did you mean clients.mail.port?");
}

TEST_F(Config, quotes_that_are_closed_may_hold_anything) {
  for (const char* const yaml :
       {"name: \"a 'b' # c\"\n", "name: 'a \"b\" # c'\n", "name: a\"b'c\n", "name: it's # \"\n",
        "name: |\n  \"a\n  'b\n", "name: \"a\n\n  b\" # '\n\n", "# \"\nname: x\n"}) {
    EXPECT_EQ(error(yaml), "loaded") << yaml;
  }
  EXPECT_EQ(load("name: |\n  \"a\n")->name, "\"a\n");
}

// A type that is written as text.
struct Season {
  Date opens = Date::make(2026, 4, 1).value();
  Timestamp since;
  std::vector<Date> holidays;
  Decimal fee = 2.50_dec;
};

TEST_F(Config, has_dates_times_and_other_types_that_are_written_as_text) {
  const auto season =
      load<Season>("opens: 2026-05-01\nholidays: [2026-12-25, \"2026-12-26\"]\n", {"--since=2026-01-01T00:00:00Z"});
  ASSERT_TRUE(season) << season.error().message();
  EXPECT_EQ(season->opens.text(), "2026-05-01");
  EXPECT_EQ(season->since.text(), "2026-01-01T00:00:00Z");
  ASSERT_EQ(season->holidays.size(), 2u);
  EXPECT_EQ(season->holidays[1].text(), "2026-12-26");
  EXPECT_EQ(season->fee.text(), "2.50");
  EXPECT_EQ(load<Season>("fee: 12345678901234567890.10\n")->fee.text(), "12345678901234567890.10");
  const std::string text = describe(*season, origins_);
  EXPECT_NE(text.find("opens: 2026-05-01 "), std::string::npos) << text;
  EXPECT_EQ(load<Season>("")->opens.text(), "2026-04-01");

  EXPECT_EQ(
      error<Season>("fee: 2,50\n"),
      "service.yaml:1: fee: \"2,50\" is not valid: expected a decimal number such as 19.90, of at most 36 digits");
  EXPECT_EQ(error<Season>("opens: 2026-02-30\n"),
            "service.yaml:1: opens: \"2026-02-30\" is not valid: expected a date such as 2026-11-24 (RFC 3339)");
  EXPECT_EQ(error<Season>("opens: {a: 1}\n"),
            "service.yaml:1: opens: is a section of keys: expected a date such as 2026-11-24 (RFC 3339)");
  EXPECT_EQ(
      error<Season>("since: today\n"),
      "service.yaml:1: since: \"today\" is not valid: expected a time such as 2026-11-24T12:00:37.250Z (RFC 3339)");
}

TEST_F(Config, an_unknown_key_is_refused_with_a_suggestion) {
  EXPECT_EQ(error("name: x\n\nnetwork:\n  http:\n    prot: 1\n"),
            "service.yaml:5: network.http.prot: unknown key; did you mean network.http.port?");
  EXPECT_EQ(error("port: 1\n"), "service.yaml:1: port: unknown key; did you mean network.http.port?");
  EXPECT_EQ(error("network:\n  zebra: 1\n"),
            "service.yaml:2: network.zebra: unknown key: expected one of http, buffer_kb, max_body");
  EXPECT_EQ(error("", {"--network.htp.port=1"}), "--network.htp.port: unknown key; did you mean --network.http.port?");
  EXPECT_EQ(error("name: x", {"--set", "nme=1"}), "--set nme: unknown key; did you mean --name?");
  EXPECT_EQ(error("name: x", {}, {"KEEL_NETWORK__HTTP__PROT=1"}),
            "KEEL_NETWORK__HTTP__PROT: network.http.prot: unknown key; did you mean KEEL_NETWORK__HTTP__PORT?");
  EXPECT_EQ(error("name: x", {"--name.first=1"}), "--name.first: unknown key; name is a value and has no keys");
}

TEST_F(Config, a_wrong_value_is_named_with_what_was_expected) {
  const struct {
    const char* yaml;
    const char* message;
  } rows[] = {
      {"network: {http: {port: 70000}}",
       "network.http.port: 70000 is out of range: expected an integer from 1 to 65535"},
      {"network: {http: {port: 99999999999999999999}}",
       "network.http.port: 99999999999999999999 is out of range: expected an integer from 1 to 65535"},
      {"network: {http: {port: \"80\"}}",
       "network.http.port: \"80\" is in quotes: expected an integer from 1 to 65535"},
      {"network: {http: {port: 010}}",
       "network.http.port: \"010\" is not an integer: expected an integer from 1 to 65535"},
      {"network: {http: {port: 8e3}}",
       "network.http.port: \"8e3\" is not an integer: expected an integer from 1 to 65535"},
      {"network: {http: {port: [1]}}", "network.http.port: is a list: expected an integer from 1 to 65535"},
      {"network: {http: {port: }}", "network.http.port: is empty: expected an integer from 1 to 65535"},
      {"network: {http: 1}", "network.http: is a single value: expected a section of keys"},
      {"network: {http: {keep_alive: yes}}",
       "network.http.keep_alive: \"yes\" is not a boolean: expected true or false"},
      {"network: {http: {keep_alive: True}}",
       "network.http.keep_alive: \"True\" is not a boolean: expected true or false"},
      {"network: {http: {timeout_sec: 30s}}",
       "network.http.timeout_sec: \"30s\" is not a duration: expected a number of seconds from 1 to 3600"},
      {"network: {http: {timeout_sec: 0.5}}",
       "network.http.timeout_sec: 0.5 is out of range: expected a number of seconds from 1 to 3600"},
      {"network: {http: {timeout_sec: .nan}}",
       "network.http.timeout_sec: \".nan\" is not a duration: expected a number of seconds from 1 to 3600"},
      {"network: {http: {idle: 30}}",
       "network.http.idle: 30 has no unit: expected a duration with its unit, such as 200ms or 30s, of at least 0s"},
      {"network: {http: {idle: 3m}}",
       "network.http.idle: \"3m\" is not a duration: expected a duration with its unit, such as 200ms or 30s, of at "
       "least 0s"},
      {"network: {max_body: 65MiB}",
       "network.max_body: 65MiB is out of range: expected a size with its unit, such as 64KiB or 1MiB, from 0B to "
       "64MiB"},
      {"network: {max_body: 1MB}",
       "network.max_body: \"1MB\" is not a size: expected a size with its unit, such as 64KiB or 1MiB, from 0B to "
       "64MiB"},
      {"network: {buffer_kb: -1}", "network.buffer_kb: -1 is out of range: expected a number of KiB of at least 0"},
      {"rate: 1.5", "rate: 1.5 is out of range: expected a number from 0 to 1"},
      {"rate: .inf", "rate: \".inf\" is not a number: expected a number from 0 to 1"},
      {"offset: x\ty", "offset: \"x\\x09y\" is not an integer: expected an integer"},
      {"colour: green", "colour: \"green\" is not known: expected one of red, blue"},
      {"sinks: {path: x}", "sinks: is a section of keys: expected a list"},
      {"network: {max_body: 99999999999GiB}",
       "network.max_body: 99999999999GiB is out of range: expected a size with its unit, such as 64KiB or 1MiB, from "
       "0B "
       "to 64MiB"},
      // What 64 bits do not hold is not made the largest that they do.
      {"network: {buffer_kb: -99999999999999999}",
       "network.buffer_kb: -99999999999999999 is out of range: expected a number of KiB of at least 0"},
      {"network: {buffer_kb: 99999999999999999}",
       "network.buffer_kb: 99999999999999999 is out of range: expected a number of KiB of at least 0"},
      {"network: {buffer_kb: 1e18}", "network.buffer_kb: 1e18 is out of range: expected a number of KiB of at least 0"},
      {"network: {http: {idle: 999999999d}}",
       "network.http.idle: 999999999d is out of range: expected a duration with its unit, such as 200ms or 30s, of at "
       "least 0s"},
      {"sinks: [{level: 10}]", "sinks.0.level: 10 is out of range: expected an integer from 0 to 9"},
      {"tags: [[a]]", "tags.0: is a list: expected text"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(error(row.yaml), std::string("service.yaml:1: ") + row.message) << row.yaml;
  }
}

TEST_F(Config, wrong_variables_and_flags_are_named) {
  EXPECT_EQ(error("name: x",
                  {"--network.http.port=x", "--rate", "--sinks=[", "--tags.1=a", "--tags.x=a", "stray", "--config"},
                  {"KEEL_RATE=2", "KEEL_OFFSET="}),
            "--rate: needs a value: --rate=VALUE\n"
            "command line: unexpected argument \"stray\"\n"
            "--config: needs a file: --config FILE\n"
            "KEEL_OFFSET: offset: \"\" is not an integer: expected an integer\n"
            "KEEL_RATE: rate: 2 is out of range: expected a number from 0 to 1\n"
            "--network.http.port: \"x\" is not an integer: expected an integer from 1 to 65535\n"
            "--sinks: a key is a list or a map, or a bracket is not closed: expected text\n"
            "--tags.1: \"1\" is not an index of the list: expected 0 to 0\n"
            "--tags.x: \"x\" is not an index of the list: expected 0 to 0");
}

TEST_F(Config, an_option_that_is_none_is_not_taken_for_a_key) {
  EXPECT_EQ(error("name: x", {"--verbose"}), "--verbose: unknown option: --help lists all");
  EXPECT_EQ(error("name: x", {"--confg", "orders.yaml"}),
            "--confg: unknown option; did you mean --config?\n"
            "command line: unexpected argument after --confg");
  EXPECT_EQ(error("name: x", {"--check-confg"}), "--check-confg: unknown option; did you mean --check-config?");
  EXPECT_EQ(error("name: x", {"--network.http"}), "--network.http: needs a value: --network.http=VALUE");
  EXPECT_EQ(error("name: x", {"orders.yaml"}),
            "command line: unexpected argument \"orders.yaml\"; a file is given as --config FILE");
}

// Who forgets the equals sign, or writes a blank behind it, must not find the secret in a log.
TEST_F(Config, a_word_that_may_be_the_value_of_a_flag_is_not_shown) {
  EXPECT_EQ(error("name: x", {"--password", "hunter2", "--set", "password", "hunter2", "--password=", "hunter2"}),
            "--password: needs a value: --password=VALUE\n"
            "command line: unexpected argument after --password\n"
            "--set password: needs a value: --set password=VALUE\n"
            "command line: unexpected argument after --set password");
  EXPECT_EQ(error("name: x", {"--password=", "hunter2"}), "command line: unexpected argument after --password");
  EXPECT_EQ(error("name: x", {"--name=", "--check-config", "stray"}), "command line: unexpected argument \"stray\"");
}

TEST_F(Config, all_problems_are_reported_up_to_twenty) {
  std::string yaml;
  for (int i = 0; i < 25; ++i) yaml += "zz" + std::to_string(i) + ": 1\n";

  const std::string text = error(yaml);

  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_TRUE(text.ends_with("\nand 5 more")) << text;
}

TEST_F(Config, rules_between_fields_name_the_origin) {
  EXPECT_EQ(error("name: forbidden"), "service.yaml:1: name: must be another one");
  EXPECT_EQ(error("rate: 0.5"), "colour: does not go with half a rate");
}

TEST_F(Config, an_empty_file_is_an_empty_configuration) {
  for (const char* const text :
       {"", " \n\n", "\t\r\n", "# all commented out\n", "---\n", "---\n# nothing\n...\n", "{}"}) {
    EXPECT_EQ(error(text), "loaded") << '"' << text << '"';
  }
}

TEST_F(Config, files_that_are_no_configuration_are_refused_clearly) {
  EXPECT_EQ(load_from("absent.yaml").error().message(), "absent.yaml: cannot be opened: No such file or directory");
  EXPECT_EQ(load_from("/").error().message(), "/: cannot be read: Is a directory");
  EXPECT_EQ(error("network:\n  # nothing\n"), "loaded");
  EXPECT_EQ(error("just text"), "service.yaml:1: is not a map: expected a map of keys such as \"network:\"");
  EXPECT_EQ(error("- a\n- b\n"), "service.yaml:1: is not a map: expected a map of keys such as \"network:\"");
  EXPECT_EQ(error("name: x\n---\nname: y\n"), "service.yaml:2: has a second document: expected only one");
  EXPECT_EQ(error("rate: 1\nname: \"shop\nnetwork:\n  http:\n    port: 81\n"),
            "service.yaml:2: is not valid YAML: the \" in column 7 is not closed");
  EXPECT_EQ(error("name: 'it''s\n\n"), "service.yaml:1: is not valid YAML: the ' in column 7 is not closed");
  EXPECT_NE(error("!'/\n,"), "loaded");
  EXPECT_EQ(error("name: \"a\"\ntags:\n  - x\n  - \"y\n  # it's a comment\n"),
            "service.yaml:4: is not valid YAML: the \" in column 5 is not closed");
  EXPECT_EQ(error("network: {http: {port: \"81}}"),
            "service.yaml:1: is not valid YAML: the \" in column 24 is not closed");
  EXPECT_EQ(error("\"name: x\n"), "service.yaml:1: is not valid YAML: the \" in column 1 is not closed");
  EXPECT_EQ(error("name: x", {"--sinks=[{path: \"a}]"}),
            "--sinks: is not valid YAML: the \" in column 9 is not closed");
  EXPECT_EQ(error("name: [x\n"), "service.yaml:1: is not valid YAML: [ is not closed");
  EXPECT_EQ(error("a: x[0]  # [\nb: '['\nnetwork:\n  http: {port: [80]\n  address: x\n"),
            "service.yaml:4: is not valid YAML: { is not closed");
  EXPECT_EQ(error("network:\n  http:\n    port 80\n\n    # 81\n    address: x\n"),
            "service.yaml:3: is not valid YAML: a key is not followed by ':' and a blank");
  EXPECT_EQ(error("network:\n  http:\n    port:80\n    address: x\n"),
            "service.yaml:3: is not valid YAML: a key is not followed by ':' and a blank");
  EXPECT_EQ(error("network:\n  http:\n    port: 80\n   address: x\n"),
            "service.yaml:4: is not valid YAML: the indentation matches no key above it");
  EXPECT_EQ(error("a: b: c\n"), "service.yaml:1: is not valid YAML: illegal map value");
  EXPECT_EQ(error("a:\n  name: x\n  name: y\nname: 1\nname: 2\n"),
            "service.yaml:3: a.name: is given twice: first in line 2\n"
            "service.yaml:5: name: is given twice: first in line 4");
  EXPECT_EQ(error("name: !!str x\n"), "service.yaml:1: tags are not supported");
  EXPECT_EQ(error("? [a]\n: b\n"),
            "service.yaml:1: a key is a list or a map, or a bracket is not closed: expected text");
  EXPECT_EQ(error(": b\n"), "service.yaml:1: a key is missing before ':': expected text");
  EXPECT_EQ(error("name: " + std::string(1 << 20, 'x')), "service.yaml: is too large: expected at most 1 MiB");
}

TEST_F(Config, aliases_work_and_bombs_do_not) {
  const auto service = load("name: &n shared\ntags: [*n, *n]\n");
  ASSERT_TRUE(service.is_ok()) << service.error().message();
  EXPECT_EQ(service->tags, (std::vector<std::string>{"shared", "shared"}));

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 1; j < 10; ++j) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_EQ(error(bomb), "service.yaml:5: has too many values: expected at most 20000 after aliases are expanded");
  EXPECT_EQ(error("name: &n " + std::string(500'000, 'x') + "\ntags: [*n, *n, *n, *n, *n, *n, *n, *n, *n]\n"),
            "service.yaml:2: has too much text: expected at most 4 MiB after aliases are expanded");
  EXPECT_EQ(error("name: &n [*n]\n"), "service.yaml:1: an alias refers to the value that contains it");
  EXPECT_EQ(error("name: " + std::string(33, '[') + std::string(33, ']') + "\n"),
            "service.yaml:1: is nested too deeply: expected at most 32 levels");
  EXPECT_NE(error("name: " + std::string(100'000, '[')), "loaded");
}

TEST_F(Config, describe_prints_values_with_their_origins_and_no_secret) {
  const auto service = load("name: \"it's: x\"\npassword: hush\nsinks:\n  - path: a.log\n  - level: 1\ntags: [b]\n",
                            {"--network.http.port=81"}, {"KEEL_NETWORK__HTTP__IDLE=1500ms"});
  ASSERT_TRUE(service.is_ok()) << service.error().message();

  EXPECT_EQ(describe(*service, origins_),
            "network:\n"
            "  http:\n"
            "    port: 81                              # --network.http.port\n"
            "    keep_alive: true                      # default\n"
            "    timeout_sec: 30                       # default\n"
            "    idle: 1500ms                          # KEEL_NETWORK__HTTP__IDLE\n"
            "  buffer_kb: 16                           # default\n"
            "  max_body: 1MiB                          # default\n"
            "name: \"it's: x\"                           # service.yaml:1\n"
            "rate: 1                                   # default\n"
            "offset: -5                                # default\n"
            "colour: red                               # default\n"
            "password: \"***\"                           # service.yaml:2\n"
            "sinks:                                    # service.yaml:3\n"
            "  - path: a.log                           # service.yaml:4\n"
            "    level: 3                              # default\n"
            "  - path: out.log                         # default\n"
            "    level: 1                              # service.yaml:5\n"
            "tags:                                     # service.yaml:6\n"
            "  - b                                     # service.yaml:6\n");
}

TEST_F(Config, what_describe_prints_loads_to_the_same) {
  auto service =
      load("name: \"null\"\ntags: ['', \"a\\nb\", '- x', '#', '~', '12', 'ü: \"']\nnetwork: {http: {idle: 7us}}\n");
  ASSERT_TRUE(service.is_ok()) << service.error().message();
  const std::string first = describe(*service, Origins());

  const auto again = load(first);

  ASSERT_TRUE(again.is_ok()) << again.error().message();
  EXPECT_EQ(describe(*again, Origins()), first);
  EXPECT_EQ(again->tags, service->tags);
}

TEST(ConfigSecret, is_never_part_of_an_error) {
  const char* const args[] = {"--password.x=hush", "--pasword=hush", "--passwrd"};
  const char* const none[] = {nullptr};

  const auto loaded = load<Service>({.args = args, .environment = none});

  ASSERT_FALSE(loaded.is_ok());
  EXPECT_EQ(loaded.error().message().find("hush"), std::string_view::npos) << loaded.error().message();
}

TEST(Help, lists_every_key_with_range_and_default) {
  EXPECT_EQ(help<Service>(),
            "  --config FILE        read this YAML file\n"
            "  --set KEY=VALUE      the same as --KEY=VALUE\n"
            "  --print-config       print the effective configuration and where each value comes from\n"
            "  --check-config       load the configuration and end: 0 when it is valid, otherwise 2\n"
            "  --version            print the versions of the program and of Keel\n"
            "  --help               print this\n"
            "\n"
            "Every key below can be given in the file, in the environment (KEEL_SECTION__KEY for section.key) and "
            "on the command line; the later source wins.\n"
            "\n"
            "network: the network\n"
            "\n"
            "network.http: the server\n"
            "  --network.http.port=VALUE\n"
            "      port to listen on (an integer from 1 to 65535; default 8080)\n"
            "  --network.http.keep_alive=VALUE\n"
            "      between requests (true or false; default true)\n"
            "  --network.http.timeout_sec=VALUE\n"
            "      for a request (a number of seconds from 1 to 3600; default 30)\n"
            "  --network.http.idle=VALUE\n"
            "      between requests (a duration with its unit, such as 200ms or 30s, of at least 0s; default 1min)\n"
            "  --network.buffer_kb=VALUE\n"
            "      per connection (a number of KiB of at least 0; default 16)\n"
            "  --network.max_body=VALUE\n"
            "      per request (a size with its unit, such as 64KiB or 1MiB, from 0B to 64MiB; default 1MiB)\n"
            "  --name=VALUE\n"
            "      what it is called (text; default service)\n"
            "  --rate=VALUE\n"
            "      share (a number from 0 to 1; default 1)\n"
            "  --offset=VALUE\n"
            "      any integer (an integer; default -5)\n"
            "  --colour=VALUE\n"
            "      of the bike shed (one of red, blue; default red)\n"
            "  --password=VALUE\n"
            "      of the store (text)\n"
            "  --password_file=VALUE\n"
            "      file that contains the secret, in place of the secret itself\n"
            "  --sinks=[...]\n"
            "      where lines go (a list, as YAML; N below is an index)\n"
            "  --sinks.N.path=VALUE\n"
            "      where it goes (text; default out.log)\n"
            "  --sinks.N.level=VALUE\n"
            "      how much of it (an integer from 0 to 9; default 3)\n"
            "  --tags=[...]\n"
            "      words (a list, as YAML; N below is an index)\n");
}

}  // namespace
}  // namespace keel::config::config_test
