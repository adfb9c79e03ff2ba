#include "keel/http/middleware/authentication.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/data/base64.h"
#include "keel/http/testing/internal/request_test.h"
#include "keel/http/testing/test_server.h"
#include "keel/task/timing.h"

namespace keel::http::authentication_test {
namespace {

struct Caller {
  int id;
};
// Not trivially copyable: kept in the task of the middleware.
struct Customer {
  std::string name;
};

std::optional<Caller> by_token(std::string_view token) {
  if (token == "good-token_1.~+/=") return Caller{7};
  return std::nullopt;
}
std::optional<Caller> by_password(std::string_view user, std::string_view password) {
  if (user == "Aladdin" && password == "open sesame") return Caller{8};
  if (user == "j\xc3\xbcrgen" && password.empty()) return Caller{9};
  if (user == "colon" && password == "a:b:") return Caller{10};
  return std::nullopt;
}

Response who(Request& request) {
  const Caller* caller = request.get<Caller>();
  return Response::text(Status::Ok, caller == nullptr ? "nobody" : std::to_string(caller->id));
}

struct Asked {
  int status;
  std::string body;
  std::string challenge;  // WWW-Authenticate.
};

template <class M>
Asked ask(M&& middleware, std::string_view fields, std::string_view target = "/a") {
  Router router;
  router.use(std::forward<M>(middleware)).get("/a", &who);
  TestRequest request(router, "GET", target, fields);
  const Response response = request.finished(request.answer());
  std::string challenge;
  std::string_view rest = response.fields();
  Field field;
  while (next_field(rest, field)) {
    if (equals_ignore_case(field.name, "WWW-Authenticate")) challenge = field.value;
  }
  return {number(response.status()), std::string(response.content()), challenge};
}

std::string authorization(std::string_view value) { return "Authorization: " + std::string(value) + "\r\n"; }

TEST(Bearer, lets_a_known_token_through_and_says_who_it_is) {
  for (const char* value : {"Bearer good-token_1.~+/=", "bearer good-token_1.~+/=", "BEARER   good-token_1.~+/="}) {
    const Asked asked = ask(bearer(&by_token), authorization(value));
    EXPECT_EQ(asked.status, 200) << value;
    EXPECT_EQ(asked.body, "7") << value;
  }
}

// RFC 6750 §3.
TEST(Bearer, asks_for_a_token_without_an_error_code_when_there_is_none) {
  for (const std::string& fields : {std::string(), authorization("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
                                    authorization("Bearerx good-token"), authorization("")}) {
    const Asked asked = ask(bearer(&by_token, {.realm = "orders"}), fields);
    EXPECT_EQ(asked.status, 401) << fields;
    EXPECT_EQ(asked.challenge, "Bearer realm=\"orders\"") << fields;
  }
}

// RFC 6750 §3.1.
TEST(Bearer, rejects_an_unknown_token_as_invalid) {
  const Asked asked = ask(bearer(&by_token), authorization("Bearer other"));
  EXPECT_EQ(asked.status, 401);
  EXPECT_EQ(asked.challenge, "Bearer realm=\"api\", error=\"invalid_token\"");
  EXPECT_EQ(asked.body.find("other"), std::string::npos) << asked.body;
}

TEST(Bearer, is_a_bad_request_where_it_is_no_token) {
  for (const std::string& fields :
       {authorization("Bearer"), authorization("Bearer a b"), authorization("Bearer a,b"), authorization("Bearer ="),
        authorization("Bearer a=b"), authorization("Bearer \"a\""), authorization("Bearer t\xc3\xb6ken")}) {
    const Asked asked = ask(bearer(&by_token), fields);
    EXPECT_EQ(asked.status, 400) << fields;
    EXPECT_EQ(asked.challenge, "Bearer realm=\"api\", error=\"invalid_request\"") << fields;
  }
}

// RFC 7617 §2, whose example this is.
TEST(Basic, lets_a_known_user_through_and_says_who_it_is) {
  EXPECT_EQ(ask(basic(&by_password), authorization("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")).body, "8");
  const auto of = [](std::string_view text) {
    return authorization("Basic " + base64::encode(text, base64::Form::Standard));
  };
  EXPECT_EQ(ask(basic(&by_password), of("j\xc3\xbcrgen:")).body, "9");
  EXPECT_EQ(ask(basic(&by_password), of("colon:a:b:")).body, "10") << "the first colon ends the user";
  EXPECT_EQ(ask(basic(&by_password), of("Aladdin:open sesame ")).status, 401);
  EXPECT_EQ(ask(basic(&by_password), of(":")).status, 401);
}

TEST(Basic, asks_for_a_password_in_utf_8) {
  const std::string challenge = "Basic realm=\"back office\", charset=\"UTF-8\"";
  for (const std::string& fields : {std::string(), authorization("Bearer good-token_1.~+/="),
                                    authorization("Basic " + base64::encode("Aladdin:x", base64::Form::Standard)),
                                    authorization("Basic " + base64::encode("j\xfcrgen:", base64::Form::Standard))}) {
    const Asked asked = ask(basic(&by_password, {.realm = "back office"}), fields);
    EXPECT_EQ(asked.status, 401) << fields;
    EXPECT_EQ(asked.challenge, challenge) << fields;
  }
}

TEST(Basic, is_a_bad_request_where_it_is_malformed) {
  const auto of = [](std::string_view text) {
    return authorization("Basic " + base64::encode(text, base64::Form::Standard));
  };
  for (const std::string& fields :
       {authorization("Basic"), authorization("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ"), authorization("Basic QWxh ZGRpbg=="),
        authorization("Basic QWxhZGRpbjpvcGVuIHNlc2FtZR=="), authorization("Basic !!!!"), of("no colon"),
        of(std::string_view("user:\0", 6)), of("user\n:password"), of("user:pass\x7f")}) {
    EXPECT_EQ(ask(basic(&by_password), fields).status, 400) << fields;
  }
}

TEST(ApiKey, is_in_its_field) {
  const auto by_key = [](std::string_view key) {
    return key == "k-1" ? std::optional<Caller>(Caller{1}) : std::nullopt;
  };
  EXPECT_EQ(ask(api_key(by_key), "X-Api-Key: k-1\r\n").body, "1");
  EXPECT_EQ(ask(api_key(by_key, {.header = "X-Token"}), "x-token: k-1\r\n").body, "1");

  for (const char* fields : {"", "X-Api-Key: \r\n", "X-Api-Key: k-2\r\n", "X-Token: k-1\r\n"}) {
    const Asked asked = ask(api_key(by_key, {.realm = "orders"}), fields);
    EXPECT_EQ(asked.status, 401) << fields;
    EXPECT_EQ(asked.challenge, "ApiKey realm=\"orders\"") << fields;
  }
  EXPECT_EQ(ask(api_key(by_key), "X-Api-Key: k-1\r\nX-Api-Key: k-1\r\n").status, 400);
}

TEST(ApiKey, is_in_the_query_only_where_that_was_chosen) {
  const auto by_key = [](std::string_view key) {
    return key == "k+1" ? std::optional<Caller>(Caller{1}) : std::nullopt;
  };
  EXPECT_EQ(ask(api_key(by_key), "", "/a?key=k%2B1").status, 401);

  const ApiKeyOptions options{.query = "key"};
  EXPECT_EQ(ask(api_key(by_key, options), "", "/a?key=k%2B1").body, "1");
  EXPECT_EQ(ask(api_key(by_key, options), "X-Api-Key: k+1\r\n", "/a?key=other").body, "1") << "the field goes first";
  EXPECT_EQ(ask(api_key(by_key, options), "", "/a?key=").status, 401);
  EXPECT_EQ(ask(api_key(by_key, options), "", "/a?key=%zz").status, 400);
  EXPECT_EQ(ask(api_key(by_key, {.header = "", .query = "key"}), "X-Api-Key: k+1\r\n", "/a").status, 401);

  EXPECT_EQ(ask(api_key(by_key, options), "", "/a?x=1&key=k%2B1&keys=other&x=2").body, "1");
  for (const char* target : {"/a?key=k%2B1&key=other", "/a?key=k%2B1&x=1&k%65y=k%2B1", "/a?key=&key=k%2B1"}) {
    EXPECT_EQ(ask(api_key(by_key, options), "", target).status, 400) << target << ": others may read the last one";
  }
  EXPECT_EQ(ask(api_key(by_key, options), "", "/a?key=k%2B1&x=%zz&key=other").status, 400);
}

TEST(KnownKeys, know_whose_key_it_is) {
  const auto keys = one_of({{"ops", "secret-1"}, {"ci", "secret-2"}, {"ci", "secret-3"}});
  EXPECT_EQ(keys("secret-1")->name, "ops");
  EXPECT_EQ(keys("secret-2")->name, "ci");
  EXPECT_EQ(keys("secret-3")->name, "ci") << "a name may have two keys while one takes the other's place";
  for (const char* key : {"", "secret", "secret-4", "secret-11", "ops"}) EXPECT_FALSE(keys(key)) << key;

  EXPECT_EQ(keys("ops", "secret-1")->name, "ops");
  EXPECT_FALSE(keys("ops", "secret-2"));
  EXPECT_FALSE(keys("", "secret-1"));
  EXPECT_FALSE(one_of({})("secret-1"));
}

Response name_of_owner(Request& request) { return Response::text(Status::Ok, request.get<KeyOwner>()->name); }

TEST(KnownKeys, are_a_verifier_of_each_scheme) {
  const std::vector<NamedKey> keys = {{"ops", "secret-1"}};
  Router router;
  router.group("/key").use(api_key(one_of(keys))).get("", &name_of_owner);
  router.group("/token").use(bearer(one_of(keys))).get("", &name_of_owner);
  router.group("/basic").use(basic(one_of(keys))).get("", &name_of_owner);
  const auto answer = [&](std::string_view target, const std::string& fields) {
    TestRequest request(router, "GET", target, fields);
    return std::string(request.finished(request.answer()).content());
  };
  EXPECT_EQ(answer("/key", "X-Api-Key: secret-1\r\n"), "ops");
  EXPECT_EQ(answer("/token", authorization("Bearer secret-1")), "ops");
  EXPECT_EQ(answer("/basic", authorization("Basic " + base64::encode("ops:secret-1", base64::Form::Standard))), "ops");
}

TEST(InsufficientScope, says_what_would_be_needed) {
  const Response response = insufficient_scope("orders:write");
  EXPECT_EQ(number(response.status()), 403);
  EXPECT_EQ(response.fields(), "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"orders:write\"\r\n");
}

// A failing verifier: neither 401, nor a word of its error.
TEST(Authentication, tells_a_verifier_that_fails_from_a_wrong_token) {
  const std::pair<Code, int> expected[] = {{Code::Unavailable, 503},      {Code::ResourceExhausted, 503},
                                           {Code::DeadlineExceeded, 504}, {Code::Internal, 500},
                                           {Code::NotFound, 500},         {Code::InvalidArgument, 500},
                                           {Code::Conflict, 500},         {Code::FailedPrecondition, 500},
                                           {Code::PermissionDenied, 403}, {Code::Unauthenticated, 401}};
  for (const auto& [code, status] : expected) {
    const auto fails = [failure = code](std::string_view) -> Result<std::optional<Caller>> {
      return Error::text(failure, "select 1 from sessions");
    };
    const Asked asked = ask(bearer(fails), authorization("Bearer a"));
    EXPECT_EQ(asked.status, status) << to_string(code);
    if (status >= 500 || status == 401) {
      EXPECT_EQ(asked.body.find("sessions"), std::string::npos) << asked.body;
    }
    EXPECT_EQ(asked.challenge.empty(), status != 401) << asked.challenge;
  }
}

struct Sessions {
  int asked = 0;
  bool is_down = false;
  Task<std::optional<Customer>> find(std::string_view token) {
    const std::string key(token);
    ++asked;
    co_await sleep_for(10_ms);
    if (is_down) co_return fail(Code::Unavailable, "the session store is down");
    if (key == "none") co_return fail(Code::NotFound, "no rows");
    if (key.starts_with("good")) co_return Customer{"customer " + key};
    co_return std::nullopt;
  }
};

Response name_of_customer(Request& request) { return Response::text(Status::Ok, request.get<Customer>()->name); }
Task<Response> name_of_customer_later(Request& request) {
  co_await sleep_for(1_ms);
  if (request.path() == "/fails") co_return fail(Code::Conflict, "not now");
  co_return Response::text(Status::Ok, request.get<Customer>()->name);
}
struct After {
  void after(Request& request, Response& response) {
    response.header("X-Customer", request.get<Customer>() == nullptr ? "none" : "one");
  }
};

class WaitingVerifier : public ::testing::Test {
 protected:
  const Router& mounted() {
    const auto verify = [this](std::string_view token) { return sessions_.find(token); };
    router_.use(After()).use(bearer(verify)).get("/now", &name_of_customer).get("/later", &name_of_customer_later);
    router_.get("/fails", &name_of_customer_later);
    return router_;
  }
  TestResponse ask(std::string_view target, std::string_view token) {
    ClientRequest request(Method::Get, target);
    if (!token.empty()) request.header("Authorization", "Bearer " + std::string(token));
    return server_.send(std::move(request));
  }
  Sessions sessions_;
  Router router_;
  TestServer server_{mounted()};
};

TEST_F(WaitingVerifier, keeps_the_identity_until_the_handler_has_answered) {
  EXPECT_EQ(ask("/now", "good-1").body(), "customer good-1");
  const TestResponse later = ask("/later", "good-22");
  EXPECT_EQ(later.body(), "customer good-22");
  EXPECT_EQ(later.header("X-Customer"), "none") << "the identity ends with the middleware";
  EXPECT_EQ(ask("/fails", "good-3").status(), 409);
}

TEST_F(WaitingVerifier, is_not_asked_without_a_token) {
  EXPECT_EQ(ask("/now", "").status(), 401);
  EXPECT_EQ(ask("/now", "a,b").status(), 400);
  EXPECT_EQ(sessions_.asked, 0);

  const TestResponse wrong = ask("/now", "bad");
  EXPECT_EQ(wrong.status(), 401);
  EXPECT_EQ(wrong.header("WWW-Authenticate"), "Bearer realm=\"api\", error=\"invalid_token\"");
}

TEST_F(WaitingVerifier, that_fails_is_a_fault_of_the_server) {
  EXPECT_EQ(ask("/now", "none").status(), 500);
  sessions_.is_down = true;
  const TestResponse down = ask("/now", "good-1");
  EXPECT_EQ(down.status(), 503);
  EXPECT_EQ(down.header("WWW-Authenticate"), std::nullopt);
  EXPECT_EQ(down.body().find("session store"), std::string_view::npos);
}

TEST(AuthenticationDeathTest, options_that_cannot_stand_in_a_field_are_bugs) {
  EXPECT_DEATH(bearer(&by_token, {.realm = "a\"b"}), "a realm must not contain quotes");
  EXPECT_DEATH(basic(&by_password, {.realm = "a\r\nb"}), "a realm must not contain quotes");
  EXPECT_DEATH(api_key(&by_token, {.header = "X Key"}), "the header of an API key must be the name of a field");
  EXPECT_DEATH(api_key(&by_token, {.header = ""}), "ApiKeyOptions must name a header or a query parameter");
}

TEST(Authentication, of_known_keys_refuses_one_that_the_configuration_has_left_out) {
  try {
    one_of({{"ada", "secret"}, {"ops", ""}});
    FAIL() << "an empty key was accepted";
  } catch (const Misconfigured& mistake) {
    EXPECT_STREQ(mistake.what(), "the key of \"ops\" for http::one_of() is empty: set it in the configuration");
  }
}

}  // namespace
}  // namespace keel::http::authentication_test
