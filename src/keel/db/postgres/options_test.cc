#include "keel/db/postgres/options.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>

#include "keel/db/testing/folder.h"

namespace keel::db::postgres::options_test {
namespace {

using namespace std::string_literals;

using Variables = std::map<std::string, std::string>;
ConnectOptions good(std::string_view text, const Variables& variables = {}) {
  Result<ConnectOptions> options = ConnectOptions::parse(text, [&](const char* name) {
    const auto known = variables.find(name);
    return known == variables.end() ? std::optional<std::string>() : known->second;
  });
  EXPECT_TRUE(options.is_ok()) << text << ": " << options.error().message();
  return options ? *std::move(options) : ConnectOptions();
}
std::string error(std::string_view text) {
  const Result<ConnectOptions> options = ConnectOptions::parse(text);
  if (options) return "";
  EXPECT_EQ(options.error().code(), Code::InvalidArgument);
  return std::string(options.error().message());
}

TEST(ConnectOptions, reads_a_uri) {
  const ConnectOptions options = good(
      "postgres://app:p%40ss%3Aw%2Frd@db1,db2:5433,[2001:db8::1]:5434/shop%20one?sslmode=verify-full&"
      "application_name=orders&connect_timeout=3&target_session_attrs=read-write&channel_binding=require&"
      "sslrootcert=/etc/ca.pem&options=-c%20search_path%3Dapp");

  ASSERT_EQ(options.servers.size(), 3u);
  EXPECT_EQ(options.servers[0], (ServerAddress{"db1", "", 5432}));
  EXPECT_EQ(options.servers[1], (ServerAddress{"db2", "", 5433}));
  EXPECT_EQ(options.servers[2], (ServerAddress{"2001:db8::1", "", 5434}));
  EXPECT_EQ(options.user, "app");
  EXPECT_EQ(options.password, "p@ss:w/rd");
  EXPECT_EQ(options.database, "shop one");
  EXPECT_EQ(options.ssl_mode, SslMode::VerifyFull);
  EXPECT_EQ(options.application_name, "orders");
  EXPECT_EQ(options.connect_timeout, Duration::seconds(3));
  EXPECT_EQ(options.target_session, TargetSession::ReadWrite);
  EXPECT_EQ(options.channel_binding, ChannelBinding::Require);
  EXPECT_EQ(options.ssl_root_certificate, "/etc/ca.pem");
  EXPECT_EQ(options.options, "-c search_path=app");
  EXPECT_EQ(options.describe(), "app@db1:5432,db2:5433,[2001:db8::1]:5434/shop one") << "without the password";
}

TEST(ConnectOptions, has_defaults) {
  const ConnectOptions options = good("postgresql://app@");
  ASSERT_EQ(options.servers.size(), 1u);
  EXPECT_EQ(options.servers[0], (ServerAddress{"/run/postgresql", "", 5432}));
  EXPECT_TRUE(options.servers[0].is_unix());
  EXPECT_EQ(options.servers[0].socket_path(), "/run/postgresql/.s.PGSQL.5432");
  EXPECT_EQ(options.database, "app") << "called as the user is";
  EXPECT_FALSE(options.password);
  EXPECT_EQ(options.ssl_mode, SslMode::Prefer);
  EXPECT_EQ(options.channel_binding, ChannelBinding::Prefer);
  EXPECT_EQ(options.connect_timeout, Duration::seconds(10));
  EXPECT_FALSE(options.allows_cleartext_password);
  EXPECT_FALSE(options.allows_md5_password);
  EXPECT_EQ(good("user=app").describe(), good("postgres://app@/").describe()) << "both forms";
}

TEST(ConnectOptions, reads_pairs) {
  const ConnectOptions options = good(
      "  host = db1 user='app'  password='it\\'s \\\\ me' dbname=shop\tport=5433 sslmode=disable hostaddr=10.0.0.1");
  ASSERT_EQ(options.servers.size(), 1u);
  EXPECT_EQ(options.servers[0], (ServerAddress{"db1", "10.0.0.1", 5433}));
  EXPECT_EQ(options.password, "it's \\ me");
  EXPECT_EQ(options.database, "shop");
  EXPECT_EQ(options.ssl_mode, SslMode::Disable);
  EXPECT_EQ(good("user=a hostaddr=10.0.0.1,10.0.0.2").servers[1].host, "10.0.0.2");
  EXPECT_EQ(good("user=a host=a,b port=1,2").servers[1].port, 2);
  EXPECT_EQ(good("user=a host=a,b port=7").servers[1].port, 7);
  EXPECT_EQ(good("user=a host=/run/x").servers[0].socket_path(), "/run/x/.s.PGSQL.5432");
  EXPECT_EQ(good("postgres://a@%2Fvar%2Frun/shop").servers[0].host, "/var/run");
  EXPECT_EQ(good("user=a connect_timeout=1").connect_timeout, Duration::seconds(2)) << "as libpq has it";
  EXPECT_EQ(good("user=a connect_timeout=0").connect_timeout, Duration());
  EXPECT_TRUE(good("user=a require_auth=scram-sha-256,password").allows_cleartext_password);
  EXPECT_TRUE(good("user=a require_auth=md5").allows_md5_password);
  EXPECT_EQ(good("user=a sslrootcert=system").ssl_root_certificate, "");
  EXPECT_EQ(good("user=a sslrootcert=system").ssl_mode, SslMode::VerifyFull) << "as libpq has it";
  EXPECT_EQ(good("user=a sslmode=verify-full sslrootcert=system").ssl_mode, SslMode::VerifyFull);
  EXPECT_EQ(good("user=a password=''").password, std::nullopt);
}

TEST(ConnectOptions, takes_what_is_left_out_from_the_environment) {
  const Variables variables = {{"PGHOST", "db9"},    {"PGPORT", "7777"},        {"PGUSER", "env"},
                               {"PGPASSWORD", "pw"}, {"PGDATABASE", "base"},    {"PGSSLMODE", "require"},
                               {"PGAPPNAME", "me"},  {"PGCONNECT_TIMEOUT", ""}, {"HOME", "/users/ada"}};
  const ConnectOptions all = good("", variables);
  EXPECT_EQ(all.describe(), "env@db9:7777/base");
  EXPECT_EQ(all.password, "pw");
  EXPECT_EQ(all.ssl_mode, SslMode::Require);
  EXPECT_EQ(all.application_name, "me");
  EXPECT_EQ(all.password_file, "/users/ada/.pgpass");
  const ConnectOptions some = good("postgres://app@db1:1/shop?sslmode=disable", variables);
  EXPECT_EQ(some.describe(), "app@db1:1/shop");
  EXPECT_EQ(some.ssl_mode, SslMode::Disable);
  EXPECT_EQ(good("user=a passfile=/x", variables).password_file, "/x");
}

TEST(ConnectOptions, says_what_is_wrong_without_the_password) {
  EXPECT_NE(error("user=a colour=red").find("unknown key colour; the keys are host, hostaddr, port, user, password"),
            std::string::npos);
  EXPECT_NE(error("postgres://a@b/c?colour=red").find("unknown key colour"), std::string::npos);
  EXPECT_NE(error("user=a sslmode=allow").find("use prefer"), std::string::npos);
  EXPECT_NE(error("user=a sslmode=maybe").find("disable, prefer, require, verify-ca, verify-full"), std::string::npos);
  EXPECT_NE(error("host=db1").find("the user is missing"), std::string::npos);
  EXPECT_NE(error("user=a port=0").find("port=0"), std::string::npos);
  EXPECT_NE(error("user=a port=65536").find("from 1 to 65535"), std::string::npos);
  EXPECT_NE(error("user=a host=a,b,c port=1,2").find("one port, or as many ports as there are hosts"),
            std::string::npos);
  EXPECT_NE(error("user=a host=a,b hostaddr=1.2.3.4").find("as many addresses as there are hosts"), std::string::npos);
  EXPECT_NE(error("user=a user=b").find("user is given twice"), std::string::npos);
  EXPECT_NE(error("postgres://a@b?user=c").find("user is given twice"), std::string::npos);
  EXPECT_NE(error("user=a connect_timeout=soon").find("seconds"), std::string::npos);
  EXPECT_NE(error("user=a target_session_attrs=x").find("prefer-standby"), std::string::npos);
  EXPECT_NE(error("user=a channel_binding=x").find("disable, prefer, require"), std::string::npos);
  EXPECT_NE(error("user=a client_encoding=LATIN1").find("UTF8"), std::string::npos);
  for (const std::string mode : {"disable", "prefer", "require", "verify-ca"}) {
    EXPECT_NE(error("user=a sslrootcert=system sslmode=" + mode).find("verify-full"), std::string::npos);
  }
  EXPECT_NE(error("user=a require_auth=gss").find("scram-sha-256, none, password, md5"), std::string::npos);
  EXPECT_NE(error("user=a sslcert=/x").find("together"), std::string::npos);
  EXPECT_NE(error("postgres://a@[::1/b").find("]"), std::string::npos);
  EXPECT_NE(error("postgres://a@::1/b").find("brackets"), std::string::npos);
  EXPECT_NE(error("postgres://a%zz@b").find("%25"), std::string::npos);
  EXPECT_NE(error("postgres://a@b/c?x").find("key=value"), std::string::npos);
  EXPECT_NE(error("mysql://a@b/c").find("postgres://"), std::string::npos);
  EXPECT_NE(error("user=a\0b"s).find("zero byte"), std::string::npos);
  EXPECT_EQ(good("user=a%00").user, "a%00") << "only a URI has escapes";
  EXPECT_NE(error("postgres://a%00b@c").find("%"), std::string::npos);
  for (const std::string_view text :
       {"user=a password='secret words", "user=a password=top secret words", "postgres://a:secret%@b",
        "postgres://a:secret@b:x/c", "user=a password=secret=1 sslmode=x", "user=a password=x y'secret=1",
        "user=a password=x secret=1"}) {
    EXPECT_NE(error(text), "");
    EXPECT_EQ(error(text).find("secret"), std::string::npos) << error(text);
  }
}

TEST(ConnectOptions, finds_the_password_of_a_server_in_a_password_file) {
  const ConnectOptions options = good("postgres://app@db1,db2:5433,%2Frun%2Fpostgresql/shop");
  const std::string passwords =
      "# a comment\n"
      "db1:5432:other:app:wrong\n"
      "db1:5433:shop:app:wrong\n"
      "\n"
      "db1:5432:shop:*:first\r\n"
      "*:5433:shop:app:with\\:colon\\\\\n"
      "localhost:*:*:app:local:and more\n"
      "*:*:*:*:last";
  EXPECT_EQ(options.password_for(options.servers[0], passwords), "first");
  EXPECT_EQ(options.password_for(options.servers[1], passwords), "with:colon\\");
  EXPECT_EQ(options.password_for(options.servers[2], passwords), "local");
  EXPECT_EQ(options.password_for({"db3", "", 1}, passwords), "last");
  EXPECT_EQ(options.password_for(options.servers[0], "db9:*:*:*:x\nincomplete"), std::nullopt);
  EXPECT_EQ(options.password_for(options.servers[0]), std::nullopt);
  EXPECT_EQ(good("postgres://app:given@db1").password_for({"db1", "", 5432}, passwords), "given");
}

TEST(ConnectOptions, reads_the_password_file_if_only_its_owner_can) {
  const db::testing::Folder folder;
  folder.write("pgpass", "*:*:*:*:secret\n");
  ConnectOptions options = good("user=a");
  EXPECT_EQ(options.read_password_file().value(), "") << "there is none";
  options.password_file = folder / "pgpass";
  ASSERT_EQ(::chmod(options.password_file.c_str(), 0644), 0);
  EXPECT_EQ(options.read_password_file().error().code(), Code::FailedPrecondition);
  ASSERT_EQ(::chmod(options.password_file.c_str(), 0600), 0);
  EXPECT_EQ(options.read_password_file().value(), "*:*:*:*:secret\n");
  options.password_file = folder / "nowhere";
  EXPECT_EQ(options.read_password_file().value(), "");
  options.password_file = folder.path();
  EXPECT_EQ(options.read_password_file().value(), "") << "no plain file";
}

}  // namespace
}  // namespace keel::db::postgres::options_test
