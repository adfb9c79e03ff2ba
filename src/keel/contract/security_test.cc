// Who may use an operation: all kinds of credentials, and the alternatives of a contract.

#include "keel/contract/security.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/contract/response.h"
#include "keel/contract/routes.h"
#include "keel/http/client/client_request.h"
#include "keel/http/testing/test_server.h"
#include "keel/task/timing.h"

namespace security_test {

using namespace keel;
using contract::Alternative;
using contract::Requirement;
using contract::Scheme;
using http::ClientRequest;
using http::Method;
using http::Status;

enum : std::uint8_t { Bearer, Basic, Header, Query, Cookie, Certificate };
constexpr Scheme schemes[] = {
    {Scheme::Kind::Bearer, ""},      {Scheme::Kind::Basic, ""},        {Scheme::Kind::HeaderKey, "X-Key"},
    {Scheme::Kind::QueryKey, "key"}, {Scheme::Kind::CookieKey, "sid"}, {Scheme::Kind::Certificate, ""},
};
constexpr Requirement bearer[] = {{Bearer, {}}};
constexpr Requirement basic[] = {{Basic, {}}};
constexpr Requirement header[] = {{Header, {}}};
constexpr Requirement query[] = {{Query, {}}};
constexpr Requirement cookie[] = {{Cookie, {}}};
constexpr Requirement certificate[] = {{Certificate, {}}};

// Remembers what it was asked, and lets pass what does not say why not.
class Verifying final : public contract::Verifiers {
 public:
  Task<> verify(std::size_t scheme, http::Request&, const http::Credentials& credentials,
                contract::Scopes scopes) override {
    std::string one =
        std::to_string(scheme) + ' ' + std::string(credentials.user) + ':' + std::string(credentials.secret);
    for (const std::string_view scope : scopes) one += ' ' + std::string(scope);
    asked.push_back(std::move(one));
    if (credentials.secret == "unknown") co_await fail(Code::Unauthenticated, "there is no such session");
    if (credentials.secret == "weak") co_await fail(Code::PermissionDenied, "only editors may do that");
    if (credentials.secret == "down") co_await fail(Code::Unavailable, "the session store is down");
    if (credentials.secret == "slow") co_await fail(Code::DeadlineExceeded, "the session store is slow");
    if (credentials.secret == "odd") co_await fail(Code::NotFound, "a row is missing");
  }
  std::vector<std::string> asked;
};

struct Challenges {
  void after(http::Request&, http::Response& response) {
    std::string_view rest = response.fields();
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find("\r\n"));
      rest.remove_prefix(line.size() + 2);
      if (line.starts_with("WWW-Authenticate: ")) all.emplace_back(line.substr(18));
    }
  }
  std::vector<std::string> all;
};
class Answer : public contract::Response {
 public:
  static Answer no_content() { return Answer(http::Response(Status::NoContent)); }

 private:
  using contract::Response::Response;
};
struct Nothing {};
struct Handler {
  int calls = 0;

  Task<Answer> answer(http::Request&, const Nothing&) {
    ++calls;
    co_return Answer::no_content();
  }
};

struct Asked {
  int status = 0;
  std::string body;
  std::vector<std::string> challenges;
  std::vector<std::string> verified;
  int calls = 0;
  Duration time{};
};
Asked ask(std::span<const Alternative> alternatives, ClientRequest request) {
  Verifying verifying;
  Challenges challenges;
  Handler handler;
  http::Router router;
  router.use(challenges);
  const contract::Routes routes(router);
  const contract::Route route = {
      .method = Method::Post, .pattern = "/a", .call = contract::call_of<&Handler::answer>, .security = alternatives};
  const contract::Route* const all[] = {&route};
  routes.serve(all, &handler, schemes, verifying);
  http::TestServer server(router);
  const Instant begin = server.now();
  const http::TestResponse response = server.begin(std::move(request)).response();
  return {response.status(), std::string(response.body()), challenges.all, verifying.asked,
          handler.calls,     server.now() - begin};
}
using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
Asked ask(std::initializer_list<Alternative> alternatives, Fields fields = {}, std::string_view target = "/a") {
  ClientRequest request(Method::Post, target);
  for (const auto& [name, value] : fields) request.header(name, value);
  return ask(std::span(alternatives.begin(), alternatives.size()), std::move(request));
}
using Texts = std::vector<std::string>;

TEST(ContractSecurity, finds_the_credentials_of_each_kind) {
  EXPECT_EQ(ask({bearer}, {{"Authorization", "Bearer t-1"}}).verified, Texts{"0 :t-1"});
  EXPECT_EQ(ask({basic}, {{"Authorization", "Basic YWRhOnB3"}}).verified, Texts{"1 ada:pw"});
  EXPECT_EQ(ask({header}, {{"x-key", "k-1"}}).verified, Texts{"2 :k-1"});
  EXPECT_EQ(ask({query}, {}, "/a?key=k%2D1").verified, Texts{"3 :k-1"});
  EXPECT_EQ(ask({cookie}, {{"Cookie", "a=b; sid=s-1"}}).verified, Texts{"4 :s-1"});
}

// Allocations from before an Authorization to the first verifier, of a second request.
std::size_t allocations_to_read(std::span<const Scheme> of, std::string_view name, std::string_view value) {
  struct Counting {
    std::optional<http::Response> before(http::Request&) {
      begin = keel::internal::allocations();
      return std::nullopt;
    }
    std::size_t begin = 0;
  };
  struct Verifier final : contract::Verifiers {
    Task<> verify(std::size_t, http::Request&, const http::Credentials&, contract::Scopes) override {
      end = keel::internal::allocations();
      co_return;
    }
    std::size_t end = 0;
  };
  static constexpr Requirement first[] = {{0, {}}};
  static constexpr Alternative alternatives[] = {first};
  Counting counting;
  Verifier verifier;
  Handler handler;
  http::Router router;
  router.use(counting);
  const contract::Routes routes(router);
  const contract::Route route = {
      .method = Method::Post, .pattern = "/a", .call = contract::call_of<&Handler::answer>, .security = alternatives};
  const contract::Route* const all[] = {&route};
  routes.serve(all, &handler, of, verifier);
  http::TestServer server(router);
  for (int i = 0; i < 2; ++i) {
    ClientRequest request(Method::Post, "/a");
    request.header(name, value);
    EXPECT_EQ(server.begin(std::move(request)).response().status(), 204);
  }
  return verifier.end - counting.begin;
}

TEST(ContractSecurity, takes_no_heap_to_read_a_key) {
  static constexpr Scheme token[] = {{Scheme::Kind::Bearer, ""}};
  static constexpr Scheme key[] = {{Scheme::Kind::HeaderKey, "X-Key-With-A-Name-That-Is-Longer-Than-A-Small-String"}};

  EXPECT_EQ(allocations_to_read(key, key[0].name, "k-1"), allocations_to_read(token, "Authorization", "Bearer t-1"));
}

TEST(ContractSecurity, calls_the_handler_once_the_verifier_has_ended) {
  const Asked asked = ask({bearer}, {{"Authorization", "Bearer t-1"}});

  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(asked.calls, 1);
}

TEST(ContractSecurity, a_request_without_credentials_is_401_with_the_challenge_of_the_scheme) {
  const std::pair<Alternative, std::string> table[] = {
      {bearer, "Bearer realm=\"api\""},
      {basic, "Basic realm=\"api\", charset=\"UTF-8\""},
      {header, "ApiKey realm=\"api\""},
      {query, "ApiKey realm=\"api\""},
      {cookie, "Cookie realm=\"api\", cookie-name=\"sid\""},
      {certificate, "Certificate realm=\"api\""},
  };
  for (const auto& [alternative, challenge] : table) {
    const Asked asked = ask({alternative});
    EXPECT_EQ(asked.status, 401) << challenge;
    EXPECT_EQ(asked.challenges, Texts{challenge});
    EXPECT_EQ(asked.verified, Texts()) << challenge;
    EXPECT_EQ(asked.calls, 0) << challenge;
  }
}

TEST(ContractSecurity, a_401_has_one_challenge_for_each_scheme_that_is_missing) {
  constexpr Requirement both[] = {{Basic, {}}, {Cookie, {}}};

  EXPECT_EQ(ask({bearer, both, bearer, query, header}).challenges,
            (Texts{"Bearer realm=\"api\"", "Basic realm=\"api\", charset=\"UTF-8\"",
                   "Cookie realm=\"api\", cookie-name=\"sid\"", "ApiKey realm=\"api\""}));
}

TEST(ContractSecurity, the_first_alternative_whose_credentials_are_all_there_decides) {
  const Fields both = {{"Authorization", "Bearer t-1"}, {"X-Key", "k-1"}};
  EXPECT_EQ(ask({bearer, header}, both).verified, Texts{"0 :t-1"});
  EXPECT_EQ(ask({header, bearer}, both).verified, Texts{"2 :k-1"});
  EXPECT_EQ(ask({basic, header}, both).verified, Texts{"2 :k-1"});

  // What its verifier says is the response: the second is not asked.
  const Asked asked = ask({bearer, header}, {{"Authorization", "Bearer unknown"}, {"X-Key", "k-1"}});
  EXPECT_EQ(asked.status, 401);
  EXPECT_EQ(asked.verified, Texts{"0 :unknown"});
}

TEST(ContractSecurity, all_schemes_of_an_alternative_have_to_let_the_request_pass) {
  constexpr Requirement both[] = {{Bearer, {}}, {Header, {}}};

  EXPECT_EQ(ask({both}, {{"Authorization", "Bearer t-1"}, {"X-Key", "k-1"}}).verified, (Texts{"0 :t-1", "2 :k-1"}));
  const Asked second_fails = ask({both}, {{"Authorization", "Bearer t-1"}, {"X-Key", "weak"}});
  EXPECT_EQ(second_fails.status, 403);
  EXPECT_EQ(second_fails.calls, 0);
  const Asked first_fails = ask({both}, {{"Authorization", "Bearer unknown"}, {"X-Key", "k-1"}});
  EXPECT_EQ(first_fails.status, 401);
  EXPECT_EQ(first_fails.verified, Texts{"0 :unknown"});
  // One of the two is not there: none is asked.
  const Asked half = ask({both}, {{"Authorization", "Bearer t-1"}});
  EXPECT_EQ(half.status, 401);
  EXPECT_EQ(half.challenges, Texts{"ApiKey realm=\"api\""});
  EXPECT_EQ(half.verified, Texts());
}

TEST(ContractSecurity, an_alternative_without_schemes_lets_everybody_pass) {
  const Asked nobody = ask({bearer, Alternative()});
  EXPECT_EQ(nobody.status, 204);
  EXPECT_EQ(nobody.verified, Texts());

  const Asked somebody = ask({bearer, Alternative()}, {{"Authorization", "Bearer t-1"}});
  EXPECT_EQ(somebody.status, 204);
  EXPECT_EQ(somebody.verified, Texts{"0 :t-1"});
  EXPECT_EQ(ask({bearer, Alternative()}, {{"Authorization", "Bearer unknown"}}).status, 401);
}

TEST(ContractSecurity, gives_the_scopes_to_the_verifier) {
  static constexpr std::string_view scopes[] = {"read", "write"};
  constexpr Requirement scoped[] = {{Bearer, scopes}};

  EXPECT_EQ(ask({scoped}, {{"Authorization", "Bearer t-1"}}).verified, Texts{"0 :t-1 read write"});
}

TEST(ContractSecurity, credentials_that_a_verifier_does_not_know_are_401_in_the_words_of_the_scheme) {
  const Asked token = ask({bearer}, {{"Authorization", "Bearer unknown"}});
  EXPECT_EQ(token.status, 401);
  EXPECT_EQ(token.challenges, Texts{"Bearer realm=\"api\", error=\"invalid_token\""});
  EXPECT_EQ(token.body.find("session"), std::string::npos) << token.body;

  const Asked password = ask({basic}, {{"Authorization", "Basic YWRhOnVua25vd24="}});
  EXPECT_EQ(password.status, 401);
  EXPECT_EQ(password.challenges, Texts{"Basic realm=\"api\", charset=\"UTF-8\""});

  const Asked key = ask({query}, {}, "/a?key=unknown");
  EXPECT_EQ(key.status, 401);
  EXPECT_EQ(key.challenges, Texts{"ApiKey realm=\"api\""});

  const Asked session = ask({cookie}, {{"Cookie", "sid=unknown"}});
  EXPECT_EQ(session.status, 401);
  EXPECT_EQ(session.challenges, Texts{"Cookie realm=\"api\", cookie-name=\"sid\""});
  EXPECT_NE(session.body.find("the cookie sid is not valid"), std::string::npos) << session.body;
}

TEST(ContractSecurity, an_error_of_a_verifier_is_403_or_what_it_stands_for_from_500_up) {
  EXPECT_EQ(ask({header}, {{"X-Key", "weak"}}).status, 403);
  const Asked down = ask({header}, {{"X-Key", "down"}});
  EXPECT_EQ(down.status, 503);
  EXPECT_EQ(down.challenges, Texts());
  EXPECT_EQ(down.body.find("session store"), std::string::npos) << down.body;
  EXPECT_EQ(ask({header}, {{"X-Key", "slow"}}).status, 504);
  EXPECT_EQ(ask({header}, {{"X-Key", "odd"}}).status, 500);
}

TEST(ContractSecurity, malformed_credentials_are_400_when_no_alternative_has_its_own) {
  EXPECT_EQ(ask({bearer}, {{"Authorization", "Bearer a b"}}).status, 400);
  EXPECT_EQ(ask({basic}, {{"Authorization", "Basic !"}}).status, 400);
  EXPECT_EQ(ask({query}, {}, "/a?key=%zz").status, 400);
  // That tells more than that the key is missing, whichever comes first.
  EXPECT_EQ(ask({header, bearer}, {{"Authorization", "Bearer a b"}}).status, 400);
  EXPECT_EQ(ask({bearer, header}, {{"Authorization", "Bearer a b"}}).status, 400);
  EXPECT_EQ(ask({bearer, header}, {{"Authorization", "Bearer a b"}, {"X-Key", "k-1"}}).status, 204);
}

TEST(ContractSecurity, decides_before_the_body_is_received) {
  const Alternative alternatives[] = {bearer};
  ClientRequest request(Method::Post, "/a");
  request.stream("text/plain", [](http::ClientBodyWriter& out) -> Task<> {
    co_await out.write("the first part");
    co_await sleep_for(20_s);
    co_await out.write("the rest");
  });

  const Asked asked = ask(alternatives, std::move(request));

  EXPECT_EQ(asked.status, 401);
  EXPECT_LT(asked.time, 10_s);
}

}  // namespace security_test
