#include "cert/command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "keel/db/testing/folder.h"
#include "keel/net/tls/context.h"

namespace keel::cert::cert_command_test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class CertCommand : public ::testing::Test {
 protected:
  int run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--dir", folder_ / "certs"});
    return run_command(arguments);
  }
  std::string service() const { return folder_ / "certs/service.pem"; }
  std::string root() const { return folder_ / "certs/root.pem"; }
  // What the certificate is for; empty where a server cannot use it.
  std::string names() const {
    const auto context = tls::ServerContext::make({.certificates = {{.certificate_file = service()}}});
    EXPECT_TRUE(context) << context.error().describe();
    return context ? context->certificates()[0].names : "";
  }

  db::testing::Folder folder_;
};

TEST_F(CertCommand, writes_what_a_service_and_its_clients_need) {
  ASSERT_EQ(run({}), 0);
  EXPECT_EQ(names(), "localhost, 127.0.0.1, ::1");
  const tls::ClientOptions believing = {.trust = {.file = root()}};
  EXPECT_TRUE(tls::ClientContext::make(believing));
  struct stat status;
  ASSERT_EQ(::stat(service().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u) << "it has the key";
  EXPECT_EQ(read(root()).find("PRIVATE KEY"), std::string::npos);
}

TEST_F(CertCommand, makes_one_for_the_names_that_are_given) {
  ASSERT_EQ(run({"shop.test", "*.shop.test", "192.0.2.7"}), 0);
  EXPECT_EQ(names(), "shop.test, *.shop.test, 192.0.2.7");
}

TEST_F(CertCommand, makes_one_for_a_name_that_is_too_long_for_a_subject) {
  const std::string name = std::string(60, 'a') + ".example.com";
  ASSERT_EQ(run({name}), 0);
  EXPECT_EQ(names(), name);
}

TEST_F(CertCommand, replaces_both_files_or_none) {
  ASSERT_EQ(run({}), 0);
  const std::string before = read(service());
  std::filesystem::remove(root());
  std::filesystem::create_directory(root());

  EXPECT_EQ(run({}), 1);
  EXPECT_EQ(read(service()), before);
  EXPECT_FALSE(std::filesystem::exists(service() + ".new")) << "it has the key";
}

TEST_F(CertCommand, replaces_what_was_there) {
  ASSERT_EQ(run({}), 0);
  const std::string before = read(service());
  ASSERT_EQ(run({}), 0);
  EXPECT_NE(read(service()), before);
}

TEST_F(CertCommand, says_what_cannot_be_used) {
  EXPECT_EQ(run({"a b"}), 2);
  EXPECT_EQ(run({".test"}), 2);
  EXPECT_EQ(run({"a..test"}), 2);
  EXPECT_EQ(run({"fe80::1%lo"}), 2);
  EXPECT_EQ(run({"--valid"}), 2);
  EXPECT_EQ(run_command({"--dir"}), 2);
  EXPECT_FALSE(std::filesystem::exists(service()));
  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(run_command({"--dir", folder_ / "file/below"}), 1);
}

}  // namespace
}  // namespace keel::cert::cert_command_test
