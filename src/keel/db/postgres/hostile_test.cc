// SQL in each place where a text goes, more statements than there is memory for, and servers that mean no good: data
// stays data, and memory bounded. `make data-conformance` does more of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/db/postgres/testing/fake_listener.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::hostile_test {
namespace {

using testing::FakeListener;
using testing::FakeOptions;
using testing::Fault;
using testing::RealDatabaseTest;

// What this process has of memory, in KiB.
std::int64_t resident_kib() {
  std::ifstream pages("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  pages >> all >> resident;
  return resident * 4;
}

int from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// A statement as it would be if texts could be made at run time, which the public interface does not allow.
SqlFor<0> made_at_run_time(std::string_view text) {
  struct Raw {
    const char* text;
    std::uint32_t size;
    std::int32_t parameters;
    const void* place;
  };
  static constexpr SqlFor<0> any("select 1");
  Raw raw = std::bit_cast<Raw>(any);
  raw.text = text.data();
  raw.size = static_cast<std::uint32_t>(text.size());
  return std::bit_cast<SqlFor<0>>(raw);
}

// --- SQL where data is

const std::vector<std::string> evil = {
    "'; drop table victims; --",
    "\"; drop table victims; --",
    "\\'; drop table victims; --",
    "$$; drop table victims; $$",
    "1); delete from victims; select (1",
    "' or '1'='1",
    "$1",
    "$2::text || $1",
    "?",
    "/* */ drop table victims /*",
    "\xc3\xa4'; drop table victims; --",
    "\xbf'; drop table victims; --",  // Not UTF-8: what once was the second byte of a character of another encoding.
    "E'\\x27; drop table victims; --",
    "-- group\n; drop table victims",
    "-- volatile\n",
    std::string(70'000, '\''),
};

class Injection : public RealDatabaseTest {
 protected:
  void SetUp() override {
    RealDatabaseTest::SetUp();
    if (IsSkipped()) return;
    open();
    script(
        "drop table if exists victims; create table victims (id bigint generated always as identity, a text, "
        "b varchar(70000), c bytea, d jsonb, e text[]); insert into victims (a) values ('one')");
  }
};
INSTANTIATE_TEST_SUITE_P(, Injection, testing::real_engines(), io::testing::name_of_engine);

bool is_utf8(std::string_view text) { return text.find('\xbf') != 0; }

Task<> send_everywhere(Session& session, const std::string& text, int& sent) {
  std::string came;
  auto keep = [&](const Row& row) { came = row.text(0); };
  const Result<std::size_t> echoed = co_await attempt(session.query("select $1::text", keep, text));
  if (is_utf8(text) && (!echoed || came != text)) co_await fail(Code::Internal, "a text came back as another one");
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  const Result<Written> stored =
      co_await attempt(session.execute("insert into victims (a, b, c) values ($1, $2, $3)", text, text, bytes));
  if (is_utf8(text) && !stored) co_await fail(Code::Internal, "a text is not stored");
  std::size_t found = 0;
  if (stored) {
    auto count = [&](const Row& row) { found += row.text(0) == text ? 1 : 0; };
    co_await session.query("select a from victims where a = $1 and b = $2 and c = $3", count, text, text, bytes);
    if (found == 0) co_await fail(Code::Internal, "a text is not found");
  }
  // Where another type is wanted: an error, or the text as a value of that type.
  auto ignore = [](const Row&) {};
  static_cast<void>(co_await attempt(session.query("select a from victims where id = $1", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::int", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::float8", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::timestamptz", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::interval", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::numeric", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::uuid", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::inet", ignore, text)));
  static_cast<void>(co_await attempt(session.query("select $1::bool", ignore, text)));
  static_cast<void>(co_await attempt(session.execute("insert into victims (d) values ($1)", text)));
  static_cast<void>(co_await attempt(session.execute("insert into victims (e) values ($1)", text)));
  static_cast<void>(
      co_await attempt(session.execute("select set_config('application_name', $1, false) -- volatile", text)));
  static_cast<void>(co_await attempt(session.execute("select pg_notify($1, 'x') -- volatile", text)));
  ++sent;
}

TEST_P(Injection, a_text_is_data_in_each_parameter) {
  int sent = 0;
  for (const std::string& text : evil) {
    const Result<> done = run(send_everywhere(*database_, text, sent));
    EXPECT_TRUE(done) << text.substr(0, 60) << ": " << done.error().describe();
  }
  EXPECT_EQ(sent, static_cast<int>(evil.size()));
  EXPECT_EQ(integer("select count(*) from victims where a = 'one'"), 1);
}

TEST_P(Injection, a_zero_byte_in_a_text_is_an_error) {
  auto ignore = [](const Row&) {};
  using namespace std::string_literals;
  const Result<std::size_t> found = run(database_->query("select $1::text", ignore, "a\0b'; drop table victims"s));

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::InvalidArgument) << found.error().describe();
  EXPECT_EQ(integer("select count(*) from victims"), 1) << "the connection goes on";
}

// Names go to the server as the settings of a session, which are data as well.
TEST_P(Injection, a_text_is_data_in_each_setting_of_the_connection) {
  const auto encoded = [](std::string_view text) {
    std::string to;
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      to.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
    return to;
  };
  for (const std::string& text : evil) {
    if (text.size() > 1000) continue;
    const std::string at =
        "?host=" + testing::shared_server().folder() + "&port=" + std::to_string(testing::shared_server().port());
    open({.url = "postgres:///postgres" + at + "&user=keel&application_name=" + encoded(text)});
    std::string name;
    auto keep = [&](const Row& row) { name = row.text(0); };
    const auto read = run(query_rows("select current_setting('application_name')", keep));
    // The server cuts at 63 bytes, and shows what is not printable ASCII as question marks; from 16 on in hexadecimal.
    if (is_utf8(text) && text.find('\xc3') == std::string::npos) {
      ASSERT_TRUE(read) << read.error().describe();
      const bool is_in_hexadecimal = integer("select current_setting('server_version_num')::bigint") >= 160'000;
      std::string shown;
      for (const char c : text.substr(0, 63))
        shown += c != '\n' ? std::string(1, c) : is_in_hexadecimal ? "\\x0a" : "?";
      EXPECT_EQ(name, shown);
    }
    for (const std::string& url :
         {"postgres:///" + encoded(text) + at + "&user=keel", "postgres:///postgres" + at + "&user=" + encoded(text)}) {
      const Result<std::unique_ptr<Database>> made = Database::make({.url = url, .uses_environment = false});
      if (!made) continue;
      const Result<> reads = run((*made)->check_reads());
      EXPECT_FALSE(reads) << url;
      (*made)->detach(loop());
      EXPECT_TRUE(until([&] { return (*made)->is_detached(); }));
    }
  }
  open();
  EXPECT_EQ(integer("select count(*) from victims where a = 'one'"), 1);
}

// --- lengths

// CVE-2024-27304: parameters that together are longer than 32 bits can say, each of them within its own bound.
TEST(PostgresLengths, of_a_message_are_never_cut_to_32_bits) {
  Buffer out;
  Encoder encoder(out);
  Value value("");
  value.size = 1u << 30;  // Never read.
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{5}, std::size_t{64}}) {
    const std::vector<Value> values(count, value);
    const std::vector<Oid> types(count, oid::bytea);
    const Result<> bound = encoder.bind("", "s", values, types, {});
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().code(), Code::ResourceExhausted);
    EXPECT_TRUE(out.empty());
  }
}

// --- more statements than there is memory for

class ManyStatements : public RealDatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, ManyStatements, testing::real_engines(), io::testing::name_of_engine);

constexpr std::size_t text_size = 24;
std::string_view text_of(const std::vector<char>& texts, int number) {
  return {texts.data() + static_cast<std::size_t>(number) * text_size, text_size};
}

Task<> ask(Session& session, const std::vector<char>& texts, int& next, int end, int& right) {
  while (next < end) {
    const int number = next++;
    std::int64_t came = -1;
    auto keep = [&](const Row& row) { came = row.integer(0); };
    const SqlFor<0> sql = made_at_run_time(text_of(texts, number));
    co_await session.query(sql, keep);
    if (came == number) ++right;
  }
}
Task<> ask_all(Session& session, const std::vector<char>& texts, int& next, int end, int& right) {
  Scope scope;
  for (int i = 0; i < 64; ++i) scope.spawn(ask(session, texts, next, end, right));
  co_await scope.join();
}

TEST_P(ManyStatements, are_kept_by_none_of_both_sides) {
  const int count = from_environment("KEEL_CONFORMANCE_STATEMENTS", 2000);
  std::vector<char> texts(static_cast<std::size_t>(count) * text_size);
  for (int i = 0; i < count; ++i) {
    std::string text = "select " + std::to_string(i) + " as a";
    text.resize(text_size, ' ');
    std::copy(text.begin(), text.end(), texts.begin() + static_cast<std::ptrdiff_t>(i) * text_size);
  }
  DatabaseOptions options;
  options.connections = 1;
  options.statements_max = 100;
  open(std::move(options));
  int next = 0;
  int right = 0;
  const auto ask_until = [&](int end) {  // A part at a time: run() has a bound.
    while (next < end) {
      const Result<> asked = run(ask_all(*database_, texts, next, std::min(end, next + 5000), right));
      ASSERT_TRUE(asked) << asked.error().describe();
    }
  };
  ask_until(count / 10);
  const std::int64_t before = resident_kib();

  ask_until(count);

  EXPECT_EQ(right, count);
  EXPECT_EQ(database_->stats().prepared, static_cast<std::uint64_t>(count));
  EXPECT_LE(integer("select count(*) from pg_prepared_statements"), 100 + 64 + 2);
  const std::int64_t grown = resident_kib() - before;
  if (!KEEL_SANITIZED) {
    EXPECT_LT(grown, 16 * 1024) << "KiB";
  }
  std::printf("[ score ] %d statements, %lld KiB more memory\n", count, static_cast<long long>(grown));
}

// --- a server that means no good

struct Nothing : testing::FakeDatabase {
  testing::FakeStatement prepare(std::string_view) override {
    return {.parameters = {oid::int8}, .columns = {{"n", oid::int8}}};
  }
  testing::FakeResult execute(std::uint64_t, std::string_view, std::span<const testing::FakeValue> values) override {
    return {.rows = {{*values[0]}}};
  }
};

class MaliciousServer : public io::testing::LoopTest {};
INSTANTIATE_TEST_SUITE_P(, MaliciousServer, testing::real_engines(), io::testing::name_of_engine);

Task<> ask_again(Session& session, int times, int& failed) {
  for (int i = 0; i < times; ++i) {
    auto ignore = [](const Row&) {};
    const Result<std::size_t> found = co_await attempt(session.query("select $1", ignore, i));
    failed += found ? 0 : 1;
    co_await sleep_for(2_ms);
  }
}

TEST_P(MaliciousServer, gets_no_more_memory_than_is_allowed) {
  std::int64_t most = 0;
  for (const Fault fault : {Fault::EndlessRows, Fault::LengthOfGigabytes, Fault::LengthBelowFour, Fault::MoreColumns,
                            Fault::TrailingBytes, Fault::NegativeCell, Fault::BadValue, Fault::UnknownMessage}) {
    Nothing nothing;
    FakeOptions fake;
    fake.passwords = {{"app", "secret"}};
    fake.fault = fault;
    FakeListener listener(nothing, std::move(fake));
    Start<void> serving;
    ASSERT_FALSE(serving.begin(listener.serve(), [](StartCore&) noexcept {}));
    DatabaseOptions options;
    options.url = listener.url();
    options.uses_environment = false;
    options.rows_bytes_max = 1 << 20;
    options.message_bytes_max = 1 << 20;
    options.cancel_grace = 50_ms;
    options.connections = 1;
    options.reconnect_max = 20_ms;
    auto database = Database::make(std::move(options)).value();
    const std::int64_t before = resident_kib();
    int failed = 0;

    EXPECT_TRUE(run(ask_again(*database, 5, failed)));

    EXPECT_EQ(failed, 5) << static_cast<int>(fault);
    most = std::max(most, resident_kib() - before);
    database->detach(loop());
    EXPECT_TRUE(until([&] { return database->is_detached(); }));
    database.reset();
    serving.stop();
    EXPECT_TRUE(until([&] { return !serving.is_running(); }));
    static_cast<void>(serving.take());
  }
  if (!KEEL_SANITIZED) {
    EXPECT_LT(most, 32 * 1024) << "KiB";
  }
}

}  // namespace
}  // namespace keel::db::postgres::hostile_test
