// A server that speaks TLS, under each sslmode.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::db::postgres::tls_test {
namespace {

using testing::RealServer;

struct Secured {
  Secured() {
    const auto issued = authority.issue({.names = {"localhost"}});
    testing::RealServerOptions options;
    options.access = {"hostssl all speaks 127.0.0.1/32 scram-sha-256", "hostnossl all all 127.0.0.1/32 reject"};
    options.has_tcp = true;
    options.certificate = issued.certificate_pem;
    options.key = issued.key_pem;
    server = std::make_unique<RealServer>(options);
    folder.write("root.pem", authority.pem());
    folder.write("other.pem", tls::testing::Authority("Other Root").pem());
  }
  tls::testing::Authority authority{"Test Root"};
  db::testing::Folder folder;
  std::unique_ptr<RealServer> server;
};
Secured& secured() {
  static Secured made;
  return made;
}

class PostgresTls : public testing::RealDatabaseTest {
 protected:
  // What a first statement with these parameters of the URL says.
  Result<> try_with(const std::string& host, const std::string& parameters) {
    DatabaseOptions options;
    options.url = "postgres://speaks:secret@" + host + ":" + std::to_string(secured().server->port()) +
                  "/postgres?hostaddr=127.0.0.1&" + parameters;
    open(std::move(options));
    return run(database_->check_reads());
  }
};
INSTANTIATE_TEST_SUITE_P(, PostgresTls, testing::real_engines(), io::testing::name_of_engine);

TEST_P(PostgresTls, is_checked_as_sslmode_says) {
  DatabaseOptions plain;
  plain.url = secured().server->url();
  open(std::move(plain));
  script("drop role if exists speaks; create role speaks login password 'secret'");
  const std::string root = "&sslrootcert=" + secured().folder.path() + "/root.pem";
  const std::string other = "&sslrootcert=" + secured().folder.path() + "/other.pem";
  const struct {
    const char* host;
    std::string parameters;
    const char* error;  // Empty: none.
  } rows[] = {
      {"localhost", "sslmode=verify-full" + root, ""},
      {"localhost", "sslmode=verify-full&channel_binding=require" + root, ""},
      {"elsewhere.test", "sslmode=verify-full" + root, "elsewhere.test"},
      {"elsewhere.test", "sslmode=verify-ca" + root, ""},
      {"localhost", "sslmode=verify-ca" + other, "certificate"},
      {"localhost", "sslmode=require" + other, "certificate"},
      {"localhost", "sslmode=require", ""},
      {"localhost", "sslmode=prefer", ""},
      {"localhost", "sslmode=disable", "pg_hba.conf"},
  };
  for (const auto& row : rows) {
    const Result<> tried = try_with(row.host, row.parameters);
    if (*row.error == '\0') {
      EXPECT_TRUE(tried) << row.parameters << ": " << tried.error().describe();
    } else {
      ASSERT_FALSE(tried) << row.parameters;
      EXPECT_NE(tried.error().describe().find(row.error), std::string::npos)
          << row.parameters << ": " << tried.error().describe();
    }
  }
}

}  // namespace
}  // namespace keel::db::postgres::tls_test
