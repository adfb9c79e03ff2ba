#include "load/options.h"

#include <gtest/gtest.h>

namespace keel::load::load_options_test {
namespace {

Options parsed(const std::vector<std::string>& arguments) {
  auto options = parse_options(arguments);
  EXPECT_TRUE(options) << options.error().describe();
  return options ? *std::move(options) : Options();
}
std::string problem(const std::vector<std::string>& arguments) {
  const auto options = parse_options(arguments);
  return options ? "" : options.error().describe();
}

TEST(Options, a_url_alone_is_a_closed_loop_of_64_connections) {
  const Options options = parsed({"http://127.0.0.1:8080/hello?a=b"});

  EXPECT_EQ(options.url.host, "127.0.0.1");
  EXPECT_EQ(options.url.port, 8080);
  EXPECT_EQ(options.url.authority, "127.0.0.1:8080");
  ASSERT_EQ(options.requests.size(), 1u);
  EXPECT_EQ(options.requests[0].target, "/hello?a=b");
  EXPECT_EQ(options.plan.connections.to, 64);
  EXPECT_EQ(options.plan.duration, 10_s);
  EXPECT_FALSE(options.plan.open);
}

TEST(Options, urls_have_hosts_ports_and_paths) {
  struct Vector {
    std::string_view text;
    std::string_view host;
    int port;
    std::string_view target;
  };
  const Vector vectors[] = {
      {"http://example.org", "example.org", 80, "/"},
      {"http://example.org/a/b", "example.org", 80, "/a/b"},
      {"http://[::1]:81/", "::1", 81, "/"},
      {"http://[::1]", "::1", 80, "/"},
      {"http://a?b", "a", 80, "/?b"},
  };
  for (const Vector& vector : vectors) {
    const auto url = parse_url(vector.text);
    ASSERT_TRUE(url) << url.error().describe();
    EXPECT_EQ(url->host, vector.host);
    EXPECT_EQ(url->port, vector.port);
    EXPECT_EQ(url->target, vector.target);
  }
  EXPECT_EQ(parse_url("unix:/run/app.sock")->unix_path, "/run/app.sock");
  EXPECT_FALSE(parse_url("http://a/")->is_secure);
  EXPECT_TRUE(parse_url("https://a/")->is_secure);
  EXPECT_EQ(parse_url("https://a/")->port, 443);
  for (const char* wrong : {"", "127.0.0.1:80", "https://", "http://", "http://:80/", "http://a:0/", "http://a:x/",
                            "http://a:70000/", "http://[::1/", "http://u@a/", "http://a,b/", "ws://a/", "unix:run"}) {
    EXPECT_FALSE(parse_url(wrong)) << wrong;
  }
}

TEST(Options, values_follow_a_blank_or_an_equals_sign) {
  const Options options =
      parsed({"--threads", "2", "http://a/", "--duration=1.5s", "--warmup", "0s", "--timeout=250ms", "--depth=4",
              "--churn=100", "--seed=7", "--cores=1,3", "--engine=epoll", "--server-pid=12", "--server-cores=2",
              "--json=-", "--connections=10", "--busy-poll=50us"});

  EXPECT_EQ(options.plan.threads, 2);
  EXPECT_EQ(options.plan.duration, 1500_ms);
  EXPECT_EQ(options.plan.warmup, Duration());
  EXPECT_EQ(options.plan.timeout, 250_ms);
  EXPECT_EQ(options.plan.depth, 4);
  EXPECT_EQ(options.plan.requests_per_connection_max, 100u);
  EXPECT_EQ(options.plan.seed, 7u);
  EXPECT_EQ(options.cores, (std::vector<int>{1, 3}));
  EXPECT_EQ(options.engine, io::EngineKind::Epoll);
  EXPECT_EQ(options.server_pid, 12);
  EXPECT_EQ(options.server_cores, 2);
  EXPECT_EQ(options.json, "-");
  EXPECT_EQ(options.busy_poll, 50_us);
}

TEST(Options, a_rate_or_steps_make_an_open_loop) {
  const Options steady = parsed({"http://a/", "--rate=1000", "--seed=5"});
  ASSERT_TRUE(steady.plan.open);
  EXPECT_EQ(steady.plan.open->rate.to, 1000);
  EXPECT_EQ(steady.plan.open->arrivals, Arrivals::Poisson);
  EXPECT_EQ(steady.plan.open->seed, 5u);

  const Options ramp = parsed({"http://a/", "--rate=100..500 over 30s", "--arrivals=constant"});
  ASSERT_TRUE(ramp.plan.open);
  EXPECT_EQ(ramp.plan.open->rate.from, 100);
  EXPECT_EQ(ramp.plan.open->rate.over, 30_s);
  EXPECT_EQ(ramp.plan.open->arrivals, Arrivals::Constant);

  const Options steps = parsed({"http://a/", "--steps=50,100,120", "--capacity=1000"});
  EXPECT_TRUE(steps.plan.open);
  EXPECT_EQ(steps.steps, (std::vector<double>{0.5, 1, 1.2}));
  EXPECT_EQ(steps.capacity, 1000);
}

TEST(Options, connections_may_be_a_ramp) {
  const Options options = parsed({"http://a/", "--connections=64..256 over 30s"});

  EXPECT_EQ(options.plan.connections.from, 64);
  EXPECT_EQ(options.plan.connections.to, 256);
  EXPECT_EQ(options.plan.connections.over, 30_s);
  EXPECT_EQ(options.plan.connections.opens(63), Duration());
  EXPECT_EQ(options.plan.connections.opens(255), 30_s);
}

TEST(Options, what_follows_a_request_is_its_own_and_what_stands_before_is_of_all) {
  const Options options = parsed({"http://a/", "--header=X-All: 1", "--expect-status=200", "--request=GET /a",
                                  "--weight=7", "--request=POST /b", "--body={}", "--header", "X-Own:2",
                                  "--expect-status=201", "--expect-contains=x", "--expect-json=a.b=c"});

  ASSERT_EQ(options.requests.size(), 2u);
  EXPECT_EQ(options.requests[0].weight, 7u);
  EXPECT_EQ(options.requests[0].headers.size(), 1u);
  EXPECT_EQ(options.requests[0].check.status, 200);
  EXPECT_EQ(options.requests[1].method, "POST");
  EXPECT_EQ(options.requests[1].weight, 1u);
  EXPECT_EQ(options.requests[1].body, "{}");
  EXPECT_EQ(options.requests[1].check.status, 201);
  ASSERT_EQ(options.requests[1].headers.size(), 2u);
  EXPECT_EQ(options.requests[1].headers[1], (std::pair<std::string, std::string>{"X-Own", "2"}));
  EXPECT_EQ(options.requests[1].check.json.at(0).path, "a.b");
}

TEST(Options, mistakes_name_the_option_and_what_it_may_be) {
  const std::pair<std::vector<std::string>, const char*> mistakes[] = {
      {{}, "a URL is missing"},
      {{"http://a/", "http://b/"}, "only one URL may be given"},
      {{"ftp://a/"}, "URL: http[s]://host:port/path or unix:/path is expected, not 'ftp://a/'"},
      {{"http://a/", "--roots=root.pem"}, "--roots and --sessions are only for an https URL"},
      {{"http://a/", "--sessions=5"}, "--roots and --sessions are only for an https URL"},
      {{"http://a/", "--durration=1s"}, "--durration: there is no such option"},
      {{"http://a/", "--duration"}, "--duration: a value is missing"},
      {{"http://a/", "--duration=10"}, "--duration: a time with its unit"},
      {{"http://a/", "--duration=0s"}, "--duration: a time with its unit"},
      {{"http://a/", "--threads=0"}, "--threads: a number from 1 to 256 is expected, not '0'"},
      {{"http://a/", "--threads=8", "--connections=4"}, "--threads: each thread needs a connection"},
      {{"http://a/", "--connections=9..4 over 1s"}, "--connections: "},
      {{"http://a/", "--connections=4..9"}, "--connections: "},
      {{"http://a/", "--connections=1.5"}, "--connections: "},
      {{"http://a/", "--rate=0"}, "--rate: "},
      {{"http://a/", "--rate=-1"}, "--rate: "},
      {{"http://a/", "--rate=1", "--steps=50"}, "--rate and --steps"},
      {{"http://a/", "--steps=50,x"}, "--steps: percent of the capacity"},
      {{"http://a/", "--capacity=5"}, "--capacity needs --steps"},
      {{"http://a/", "--arrivals=constant"}, "--arrivals needs --rate"},
      {{"http://a/", "--rate=5", "--arrivals=often"}, "--arrivals: constant or poisson"},
      {{"http://a/", "--engine=kqueue"}, "--engine: auto, uring or epoll"},
      {{"http://a/", "--cores=a"}, "--cores: numbers of cores"},
      {{"http://a/", "--server-cores=2"}, "--server-cores needs --server-pid"},
      {{"http://a/", "--weight=2"}, "--weight: a --request before this option"},
      {{"http://a/", "--header=nothing"}, "--header: 'Name: value'"},
      {{"http://a/", "--expect-status=42"}, "--expect-status: a number from 200 to 599"},
      {{"http://a/", "--expect-json=x"}, "--expect-json: 'x' is not a member"},
      {{"http://a/", "--request=GET x"}, "--request: 'x' is not a path"},
      {{"http://a/x", "--request=GET /"}, "the URL has a path"},
      {{"http://a/", "--mix=no/such/file"}, "no/such/file: open"},
      {{"http://a/", "--body-file=no/such/file"}, "--body-file: no/such/file: open"},
  };
  for (const auto& [arguments, said] : mistakes) {
    EXPECT_TRUE(problem(arguments).starts_with(said)) << problem(arguments) << "\n  not: " << said;
  }
}

TEST(Options, help_names_every_option) {
  for (const char* option :
       {"--connections",     "--rate",          "--arrivals",    "--steps",        "--capacity",      "--duration",
        "--warmup",          "--depth",         "--churn",       "--timeout",      "--seed",          "--request",
        "--weight",          "--header",        "--body",        "--body-file",    "--expect-status", "--expect-body",
        "--expect-contains", "--expect-length", "--expect-json", "--mix",          "--csv",           "--threads",
        "--cores",           "--engine",        "--server-pid",  "--server-cores", "--json",          "--busy-poll",
        "--roots",           "--sessions"}) {
    EXPECT_NE(help().find(option), std::string_view::npos) << option;
  }
}

}  // namespace
}  // namespace keel::load::load_options_test
