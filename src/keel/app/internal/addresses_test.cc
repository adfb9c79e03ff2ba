#include "keel/app/internal/addresses.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "keel/app/internal/registrar.h"
#include "keel/db/testing/folder.h"

namespace keel::app::internal::addresses_test {
namespace {

// A socket of another program, which listens.
class Taken {
 public:
  explicit Taken(const Address& address = Address::parse("127.0.0.1:0").value())
      : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::bind(fd_, address.system(), address.system_size()), 0);
    EXPECT_EQ(::listen(fd_, 1), 0);
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&storage), &size), 0);
    address_ = Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { ::close(fd_); }

  const Address& address() const noexcept { return address_; }

 private:
  const int fd_;
  Address address_;
};

Address at(const std::string& text) { return Address::parse(text).value(); }
// A port at which nothing listens.
std::uint16_t vacant_port() { return Taken().address().port(); }
std::string port_of(const Address& address) { return std::to_string(address.port()); }

Settings one_worker() {
  Settings settings;
  settings.network.runtime.workers = 1;
  settings.monitoring.stall = Duration();
  return settings;
}

class AddressesTest : public ::testing::Test {
 protected:
  AddressesTest() {
    EXPECT_TRUE(lifecycle_.begin("workers"));
    EXPECT_TRUE(lifecycle_.ensure("workers"));
  }
  ~AddressesTest() override { lifecycle_.stop(10_s); }

  void add_http(const Address& address) { addresses_.add("http", address, "network.http", "network.http."); }
  void add_https(const Address& address) { addresses_.add("https", address, "network.https", "network.https."); }
  void add_admin(const Address& address) {
    addresses_.add("admin", address, "admin listener (monitoring.metrics)", "monitoring.metrics.export_");
  }
  // What the report says of a listener whose start ended with that errno.
  std::string said(std::string_view name, int number) {
    const Result<> reported = addresses_.report(name, Error::from_errno("bind", number));
    EXPECT_FALSE(reported);
    return reported ? "" : reported.error().describe();
  }

  const Program program_{"shop", "1.4.2"};
  config::Reloadable<Settings> config_{one_worker()};
  Lifecycle lifecycle_;
  metrics::Registry metrics_;
  Health health_;
  const Platform platform_;
  const Registrar registrar_{program_,
                             *config_,
                             [](const void* value) -> const Settings& { return *static_cast<const Settings*>(value); },
                             config_.versions(),
                             lifecycle_,
                             metrics_,
                             health_,
                             platform_};
  Supervision supervision_{Supervision::Signals::Left};
  Certificates certificates_{registrar_};
  Succession succession_{registrar_, supervision_, certificates_};
  Workers workers_{registrar_};
  Addresses addresses_{workers_, succession_};
};
using AddressReport = AddressesTest;

TEST_F(AddressReport, says_nothing_of_a_listener_that_listens) {
  const Taken other;
  add_http(at("127.0.0.1:0"));
  add_admin(other.address());

  EXPECT_TRUE(addresses_.report("http", {}));
  EXPECT_TRUE(addresses_.further().empty()) << "others are tried only after an error";
}

TEST_F(AddressReport, names_the_section_the_remedy_and_the_key) {
  add_http(at("127.0.0.1:80"));
  add_admin(at("192.0.2.1:9090"));

  EXPECT_EQ(said("http", EACCES),
            "network.http: this user may not listen there: grant CAP_NET_BIND_SERVICE, or change network.http.port: "
            "bind: Permission denied");
  EXPECT_EQ(said("admin", EADDRNOTAVAIL),
            "admin listener (monitoring.metrics): this machine does not have this address: change "
            "monitoring.metrics.export_address: bind: Cannot assign requested address");
}

TEST_F(AddressReport, names_the_socket_that_this_user_may_not_make) {
  add_admin(at("unix:/run/shop/admin.sock"));

  EXPECT_EQ(said("admin", EACCES),
            "admin listener (monitoring.metrics): this user may not create a socket there: give the user access to the "
            "folder, or change "
            "monitoring.metrics.export_address: bind: Permission denied");
}

TEST_F(AddressReport, tries_the_listeners_that_have_not_started_and_names_each_that_cannot) {
  const Taken first;
  const Taken second;
  add_http(first.address());
  add_https(second.address());
  add_admin(at("127.0.0.1:" + std::to_string(vacant_port())));

  EXPECT_EQ(
      said("http", EADDRINUSE),
      "network.http: another process listens there: stop it (ss -ltnp shows its name), or change network.http.port: "
      "bind: Address already in use");
  ASSERT_EQ(addresses_.further().size(), 1u);
  EXPECT_TRUE(
      addresses_.further()[0].starts_with("network.https: another process listens there: stop it (ss -ltnp shows its "
                                          "name), or change network.https.port: "))
      << addresses_.further()[0];
  EXPECT_TRUE(addresses_.further()[0].contains("127.0.0.1:" + port_of(second.address()))) << addresses_.further()[0];

  static_cast<void>(said("https", EADDRINUSE));
  EXPECT_EQ(addresses_.further().size(), 1u) << "each is tried once";
}

TEST_F(AddressReport, names_the_listener_of_this_service_that_has_the_address) {
  const Taken own;  // In place of the listener of network.http.
  const std::string port = port_of(own.address());
  add_http(own.address());
  add_https(own.address());
  add_admin(at("0.0.0.0:" + port));
  EXPECT_TRUE(addresses_.report("http", {}));

  EXPECT_EQ(said("https", EADDRINUSE),
            "network.https: this service itself listens there, for network.http: change network.https.port: "
            "bind: Address already in use");
  ASSERT_EQ(addresses_.further().size(), 1u);
  EXPECT_TRUE(addresses_.further()[0].starts_with(
      "admin listener (monitoring.metrics): this service itself listens there, for network.http: change "
      "monitoring.metrics.export_port: "))
      << addresses_.further()[0];
}

TEST_F(AddressReport, does_not_blame_a_listener_of_this_service_at_another_address) {
  const Taken other;
  add_http(at("127.0.0.2:" + port_of(other.address())));
  add_https(at("[::]:" + std::to_string(vacant_port())));
  add_admin(other.address());
  EXPECT_TRUE(addresses_.report("http", {}));
  EXPECT_TRUE(addresses_.report("https", {}));

  EXPECT_TRUE(said("admin", EADDRINUSE).contains("another process listens there"));
}

TEST_F(AddressReport, leaves_no_socket_behind_where_it_tried) {
  const db::testing::Folder folder;
  const std::string path = folder / "http.sock";
  const std::uint16_t port = vacant_port();
  add_admin(at("127.0.0.1:1"));
  add_http(at("unix:" + path));
  add_https(at("127.0.0.1:" + std::to_string(port)));

  static_cast<void>(said("admin", EADDRINUSE));

  EXPECT_TRUE(addresses_.further().empty());
  EXPECT_FALSE(std::filesystem::exists(path));
  const Taken mine(at("127.0.0.1:" + std::to_string(port)));
}

}  // namespace
}  // namespace keel::app::internal::addresses_test
