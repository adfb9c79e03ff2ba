// docs/login.md, compiled and run

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keel/app/app.h"
#include "keel/app/testing/test_app.h"
#include "keel/base/constant_time.h"
#include "keel/data/base64.h"
#include "keel/data/timestamp.h"
#include "keel/data/token.h"
#include "keel/http.h"
#include "keel/http/middleware/rate_limit.h"
#include "keel/task/on_error.h"
#include "keel/task/resume_on.h"

#define MIGRATIONS KEEL_SOURCE_DIR "/src/keel/app/testing/login_migrations"

namespace keel::app::login_doc_test {
namespace {

struct Credentials {
  std::string name;
  std::string password;

  void rules(Check& check) const {
    check(name).length(1, 80);
    check(password).length(12, 200);
  }
};

struct User {
  std::int64_t id = 0;
  std::string name;
};

struct StoredPassword {
  std::int64_t id = 0;
  std::string salt;
  std::string password;
};

// scrypt (RFC 7914): 32 MiB of memory and about 0.2 s of a core.
Result<std::string> hash_password(const std::string& password, const std::string& salt) {
  std::string hash(32, '\0');
  const int is_done =
      EVP_PBE_scrypt(password.data(), password.size(), reinterpret_cast<const unsigned char*>(salt.data()), salt.size(),
                     1 << 15, 8, 3, 64 << 20, reinterpret_cast<unsigned char*>(hash.data()), hash.size());
  if (is_done != 1) return fail(Code::ResourceExhausted, "the password cannot be hashed");
  return base64::encode(hash, base64::Form::Standard);
}

// The database has only digests of tokens, so nobody can log in with a copy of it.
std::string digest(std::string_view token) {
  std::string bytes(32, '\0');
  EVP_Digest(token.data(), token.size(), reinterpret_cast<unsigned char*>(bytes.data()), nullptr, EVP_sha256(),
             nullptr);
  return base64::encode(bytes, base64::Form::Standard);
}

constexpr Duration session_lifetime = 24_h;
constexpr std::string_view session_cookie = "__Host-session";

class RequireLogin {
 public:
  explicit RequireLogin(db::Session& database) : database_(database) {}

  Task<http::Response> operator()(http::Request& request, http::Next next) {
    const auto token = http::find_cookie(request, session_cookie);
    std::optional<User> user;
    if (token) {
      user = co_await database_.query_optional<User>(
          "select u.id, u.name from sessions s join users u on u.id = s.user "
          "where s.token_digest = $1 and s.expires_at > $2",
          digest(*token), Timestamp::now());
    }
    if (!user) {
      co_return http::refuse(http::Status::Unauthorized, "log in first").header("WWW-Authenticate", "Cookie");
    }
    const http::LentValue lent(request, *user);  // the handler finds it by request.get<User>()
    co_return co_await next(request);
  }

 private:
  db::Session& database_;
};

class Accounts {
 public:
  explicit Accounts(app::App& app)
      : database_(app.database()), hashing_(app.pool("hashing")), require_login_(database_) {
    http::Group logins = router_.group("/session");
    logins.use(http::RateLimit({.requests = 10, .per = 1_min, .name = "login"}));
    logins.post("", *this, &Accounts::log_in);
    router_.post("/users", *this, &Accounts::sign_up).del("/session", *this, &Accounts::log_out);

    http::Group own = router_.group("/me");
    own.use(require_login_);
    own.get("", *this, &Accounts::me);

    app.every(1_h, "sessions", [this] { return forget_expired(); });
    app.serve(router_);
  }

 private:
  Task<http::Response> sign_up(http::Request& request);
  Task<http::Response> log_in(http::Request& request);
  Task<http::Response> log_out(http::Request& request);
  http::Response me(http::Request& request);
  Task<std::string> hash(std::string password, std::string salt);
  Task<> forget_expired();

  db::Session& database_;
  ThreadPool& hashing_;
  RequireLogin require_login_;
  http::Router router_;
};

Task<std::string> Accounts::hash(std::string password, std::string salt) {
  Executor& worker = *(co_await this_task()).executor;
  co_await resume_on(hashing_);
  Result<std::string> made = hash_password(password, salt);
  co_await resume_on(worker);
  co_return co_await std::move(made);
}

Task<http::Response> Accounts::sign_up(http::Request& request) {
  const auto wanted = co_await request.json<Credentials>();
  const std::string salt = random_token();
  const std::string password = co_await hash(wanted.password, salt);
  co_await on_error(
      Code::AlreadyExists, fail(Code::Conflict, "this name is taken"),
      database_.execute("insert into users (name, salt, password) values ($1, $2, $3)", wanted.name, salt, password));
  co_return http::Response(http::Status::Created);
}

Task<http::Response> Accounts::log_in(http::Request& request) {
  const auto given = co_await request.json<Credentials>();
  const auto found = co_await database_.query_optional<StoredPassword>(
      "select id, salt, password from users where name = $1", given.name);
  // A name that does not exist takes as long as a wrong password, so the time does not tell them apart.
  const std::string salt = found ? found->salt : std::string("no such user");
  const std::string password = co_await hash(given.password, salt);
  if (!found || !constant_time_equal(password, found->password)) {
    co_return http::refuse(http::Status::Forbidden, "the name or the password is wrong");
  }
  const std::string token = random_token();
  co_await database_.execute("insert into sessions (token_digest, user, expires_at) values ($1, $2, $3)", digest(token),
                             found->id, Timestamp::now() + session_lifetime);
  http::Response response(http::Status::NoContent);
  co_await http::set_cookie(response, {.name = session_cookie, .value = token, .max_age = session_lifetime});
  co_return response;
}

Task<http::Response> Accounts::log_out(http::Request& request) {
  if (const auto token = http::find_cookie(request, session_cookie)) {
    co_await database_.execute("delete from sessions where token_digest = $1", digest(*token));
  }
  http::Response response(http::Status::NoContent);
  co_await http::set_cookie(response, {.name = session_cookie, .value = "", .max_age = Duration()});
  co_return response;
}

http::Response Accounts::me(http::Request& request) { return http::Response::json(*request.get<User>()); }

Task<> Accounts::forget_expired() {
  co_await database_.execute("delete from sessions where expires_at <= $1", Timestamp::now());
}

using TestAccounts = app::TestApp<Accounts>;

// "__Host-session=…" of the response, for the field Cookie.
std::string cookie_of(const http::TestResponse& response) {
  const std::string set(response.header("Set-Cookie").value_or(""));
  return set.substr(0, set.find(';'));
}

TEST(Login, gives_a_session_until_it_ends) {
  TestAccounts app({.settings = {"database.migrations=" MIGRATIONS}});
  const std::string ada = R"({"name":"ada","password":"correct horse battery"})";
  EXPECT_EQ(app.post("/users", ada).status(), 201);
  EXPECT_EQ(app.get("/me").status(), 401);

  http::TestClient browser(app);
  browser.header("Cookie", cookie_of(app.post("/session", ada)));
  EXPECT_EQ(browser.get("/me").body(), R"({"id":1,"name":"ada"})");

  EXPECT_EQ(browser.del("/session").status(), 204);
  EXPECT_EQ(browser.get("/me").status(), 401);
}

TEST(Login, rejects_what_is_wrong_taken_or_too_frequent) {
  TestAccounts app({.settings = {"database.migrations=" MIGRATIONS}});
  const std::string ada = R"({"name":"ada","password":"correct horse battery"})";
  EXPECT_EQ(app.post("/users", ada).status(), 201);
  EXPECT_EQ(app.post("/users", ada).status(), 409);
  EXPECT_EQ(app.post("/users", R"({"name":"eve","password":"short"})").status(), 422);
  EXPECT_EQ(app.post("/session", R"({"name":"ada","password":"wrong horse battery"})").status(), 403);
  EXPECT_EQ(app.post("/session", R"({"name":"eve","password":"wrong horse battery"})").status(), 403);

  http::TestClient browser(app);
  browser.header("Cookie", cookie_of(app.post("/session", ada)));
  app.advance(25_h);
  EXPECT_EQ(browser.get("/me").status(), 401) << "the session has expired";
  EXPECT_EQ(app.run(app.database().query_one<std::int64_t>("select count(*) from sessions")).value(), 0);

  int status = 0;
  for (int i = 0; i < 12 && status != 429; ++i) status = app.post("/session", R"({"name":"","password":""})").status();
  EXPECT_EQ(status, 429);
}

}  // namespace
}  // namespace keel::app::login_doc_test

#undef MIGRATIONS  // Other pages are compiled after it.
