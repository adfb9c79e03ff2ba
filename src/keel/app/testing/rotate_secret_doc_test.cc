// docs/rotate_secret.md, compiled and run

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/app/internal/app_testing.h"
#include "keel/app/testing/test_app.h"
#include "keel/base/constant_time.h"
#include "keel/config/secret.h"
#include "keel/http/middleware/authentication.h"
#include "keel/observe/log.h"

#define VERSION "1.0.0"

namespace keel::app::rotate_secret_doc_test {
namespace {

struct ClientKey {
  std::string name;
  config::Secret key;

  void rules(Check& check) const {
    check(key).satisfies([](const config::Secret& given) { return !given.empty(); }, "is empty: clients show a key");
  }
};

struct ShopConfig : app::Settings {
  std::vector<ClientKey> clients;

  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(v, "clients", clients, "who may call, each with its key").reloadable();
  }
};

class Shop {
 public:
  explicit Shop(app::App& app) : app_(app) {
    http::Group stock = router_.group("/stock");
    stock.use(http::bearer([this](std::string_view shown) { return owner_of(shown); }, {.realm = "shop"}));
    stock.get("", *this, &Shop::list);
    app.serve(router_);
  }

 private:
  std::optional<http::KeyOwner> owner_of(std::string_view shown) const {
    for (const ClientKey& client : app_.settings<ShopConfig>().clients) {
      if (constant_time_equal(client.key.reveal(), shown)) return http::KeyOwner{client.name};
    }
    return {};
  }
  http::Response list(http::Request& request) {
    const std::string_view owner = request.get<http::KeyOwner>()->name;
    log_.info("stock listed", log::field("owner", owner));
    return http::Response::text(http::Status::Ok, "stock for " + std::string(owner));
  }

  app::App& app_;
  const log::Logger log_{"shop"};
  http::Router router_;
};

namespace the_program {
int main(int argc, char** argv) { return app::run<Shop, ShopConfig>({"shop", VERSION}, argc, argv); }
}  // namespace the_program

struct TillConfig : app::Settings {
  config::Secret bank_key;

  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(v, "bank_key", bank_key, "the key that the till shows to the bank").reloadable();
  }
};

TEST(Stock, is_listed_for_the_owner_of_either_key) {
  app::TestApp<Shop, ShopConfig> app({.settings = {"clients=[{name: till-1, key: k1}, {name: till-2, key: k2}]"}});
  const auto with_key = [&](std::string_view key) {
    http::ClientRequest request(http::Method::Get, "/stock");
    request.header("Authorization", "Bearer " + std::string(key));
    return app.send(std::move(request));
  };

  EXPECT_EQ(with_key("k1").body(), "stock for till-1");
  EXPECT_EQ(with_key("k2").body(), "stock for till-2");
  EXPECT_EQ(with_key("k3").status(), 401);
}

class RotateSecretDoc : public Apps {
 protected:
  // The file of a key that only its user can read.
  std::string key_file(const std::string& name, const std::string& key) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << key << '\n';
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  }
  void configure(const std::vector<std::string>& key_files) const {
    std::ofstream file(folder_ + "/shop.yaml");
    file << "logging: {sinks: [{type: file, path: '" << folder_ << "/logs/app.log'}]}\nclients:\n";
    for (const std::string& key : key_files) {
      file << "  - {name: " << std::filesystem::path(key).filename().string() << ", key_file: " << key << "}\n";
    }
  }
  int with_key(const std::string& key) const {
    return status_of(ask(service_, get("/stock", "Authorization: Bearer " + key + "\r\nConnection: close\r\n")));
  }
  void reload() const {
    const auto reloads = [&] {
      const std::string text = ask(admin_, get("/metrics"));
      const std::string name = "\nconfig_reloads_total{result=\"ok\"} ";
      const std::size_t at = text.find(name);
      return at == std::string::npos ? -1 : std::stoi(text.substr(at + name.size()));
    };
    const int before = reloads();
    ::kill(::getpid(), SIGHUP);
    for (int i = 0; i < 5000 && reloads() == before; ++i) ::usleep(1000);
    EXPECT_EQ(reloads(), before + 1);
  }
};

TEST_F(RotateSecretDoc, rejects_no_request_while_a_key_is_rotated) {
  service_ = free_address();
  admin_ = free_address();
  const std::string first = key_file("till-1", "first-key");
  const std::string second = key_file("till-2", "second-key");
  configure({first});
  const std::string file = folder_ + "/shop.yaml";
  const std::string port = "--network.http.port=" + std::to_string(service_.port());
  const std::string admin_port = "--monitoring.metrics.export_port=" + std::to_string(admin_.port());
  const char* const args[] = {port.c_str(), admin_port.c_str(), "--network.workers=2"};
  const char* const environment[] = {nullptr};
  auto config = config::Reloadable<ShopConfig>::load({.file = file, .args = args, .environment = environment}).value();
  App app("shop", config);
  const Shop shop(app);
  std::thread operator_([&] {
    for (int i = 0; i < 1000 && status_of(ask(admin_, get("/readyz"))) != 200; ++i) ::usleep(1000);
    EXPECT_EQ(with_key("first-key"), 200);
    EXPECT_EQ(with_key("second-key"), 401);

    configure({first, second});
    reload();
    EXPECT_EQ(with_key("first-key"), 200);
    EXPECT_EQ(with_key("second-key"), 200);

    configure({second});
    reload();
    EXPECT_EQ(with_key("first-key"), 401);
    EXPECT_EQ(with_key("second-key"), 200);
    ::kill(::getpid(), SIGTERM);
  });

  EXPECT_EQ(app.run(), 0);
  operator_.join();
  EXPECT_EQ(log().find("-key\""), std::string::npos) << "a secret is in no line";
  EXPECT_NE(log().find(R"("message":"setting changed","key":"clients)"), std::string::npos) << log();
  for (const std::string name : {"till-1", "till-2"}) {
    EXPECT_NE(log().find(R"("message":"stock listed","owner":")" + name + '"'), std::string::npos) << log();
  }
}

TEST_F(RotateSecretDoc, has_a_main_of_one_line) { EXPECT_NE(&the_program::main, nullptr); }

TEST_F(RotateSecretDoc, reads_a_secret_that_it_shows_from_a_file) {
  const std::string argument = "--bank_key_file=" + key_file("bank", "the-key");
  const char* const args[] = {argument.c_str()};
  const char* const environment[] = {nullptr};
  const auto config = config::load<TillConfig>({.args = args, .environment = environment});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->bank_key.reveal(), "the-key");
}

TEST_F(RotateSecretDoc, does_not_start_with_an_empty_key) {
  configure({key_file("empty", "")});
  const std::string file = folder_ + "/shop.yaml";
  const char* const environment[] = {nullptr};
  const auto config = config::load<ShopConfig>({.file = file, .environment = environment});
  ASSERT_FALSE(config);
}

}  // namespace
}  // namespace keel::app::rotate_secret_doc_test
