#include "load/options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "keel/http/client/url.h"
#include "load/text.h"

namespace keel::load {
namespace {

constexpr std::size_t body_file_bytes_max = 64u << 20;
constexpr std::uint64_t connections_max = 100'000;

Error wrong(std::string_view name, std::string_view value, std::string_view expected) {
  return Error::text(Code::InvalidArgument, std::string(name) + ": " + std::string(expected) + " is expected, not '" +
                                                std::string(value) + "'");
}

Result<std::uint64_t> count(std::string_view name, std::string_view value, std::uint64_t min, std::uint64_t max) {
  const auto number = parse_count(value);
  if (number && *number >= min && *number <= max) return *number;
  return wrong(name, value, "a number from " + std::to_string(min) + " to " + std::to_string(max));
}

Result<Duration> duration(std::string_view name, std::string_view value, bool may_be_none) {
  const auto time = parse_duration(value);
  if (time && (may_be_none || *time > Duration())) return *time;
  return wrong(name, value, "a time with its unit, such as 10s, 250ms or 2min,");
}

// Parses a number or a ramp: "1000", or "1000..5000 over 30s".
struct Ramp {
  double from;
  double to;
  Duration over;
};
std::optional<Ramp> parse_ramp(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto value = parse_number(text);
    if (!value) return std::nullopt;
    return Ramp{*value, *value, Duration()};
  }
  const std::size_t over = text.find(" over ");
  if (over == std::string_view::npos || over < dots) return std::nullopt;
  const auto from = parse_number(text.substr(0, dots));
  const auto to = parse_number(text.substr(dots + 2, over - dots - 2));
  const auto time = parse_duration(text.substr(over + 6));
  if (!from || !to || !time || *time == Duration()) return std::nullopt;
  return Ramp{*from, *to, *time};
}

template <class T, class F>
Result<std::vector<T>> list(std::string_view name, std::string_view value, std::string_view expected, F parse_one) {
  std::vector<T> values;
  for (std::string_view rest = value;;) {
    const std::size_t comma = rest.find(',');
    const auto one = parse_one(rest.substr(0, comma));
    if (!one) return wrong(name, value, expected);
    values.push_back(*one);
    if (comma == std::string_view::npos) return values;
    rest.remove_prefix(comma + 1);
  }
}

class Parser {
 public:
  Result<Options> parse(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      std::string_view argument = arguments[i];
      if (!argument.starts_with("--")) {
        if (!options_.text.empty()) {
          return Error::text(Code::InvalidArgument,
                             "only one URL may be given: '" + options_.text + "' or '" + arguments[i] + "'");
        }
        options_.text = argument;
        KEEL_TRY(options_.url, parse_url(argument));
        continue;
      }
      const std::size_t equals = argument.find('=');
      const std::string_view name = argument.substr(0, equals);
      std::string_view value;
      if (equals != std::string_view::npos) {
        value = argument.substr(equals + 1);
      } else {
        if (++i == arguments.size()) {
          return Error::text(Code::InvalidArgument, std::string(name) +
                                                        ": a value is missing, or there is no such option; "
                                                        "see keel load --help");
        }
        value = arguments[i];
      }
      KEEL_TRY_VOID(take(name, value));
    }
    KEEL_TRY_VOID(finish());
    return std::move(options_);
  }

 private:
  Result<> take(std::string_view name, std::string_view value) {
    KEEL_TRY(const bool is_of_request, take_of_request(name, value));
    if (is_of_request) return {};
    Plan& plan = options_.plan;
    if (name == "--connections") {
      const auto ramp = parse_ramp(value);
      const auto is_number = [](double x) { return x >= 1 && x <= connections_max && x == std::floor(x); };
      if (!ramp || !is_number(ramp->from) || !is_number(ramp->to) || ramp->to < ramp->from) {
        return wrong(name, value, "a number up to 100000, or two such as '64..256 over 30s',");
      }
      plan.connections = {static_cast<int>(ramp->from), static_cast<int>(ramp->to), ramp->over};
    } else if (name == "--rate") {
      const auto ramp = parse_ramp(value);
      if (!ramp || ramp->to <= 0 || ramp->from > 1e9 || ramp->to > 1e9) {
        return wrong(name, value, "requests per second, or two numbers such as '1000..5000 over 30s',");
      }
      rate_ = Rate{ramp->from, ramp->to, ramp->over};
    } else if (name == "--arrivals") {
      if (value != "constant" && value != "poisson") return wrong(name, value, "constant or poisson");
      arrivals_ = value == "poisson" ? Arrivals::Poisson : Arrivals::Constant;
    } else if (name == "--steps") {
      KEEL_TRY(options_.steps, list<double>(name, value, "percent of the capacity, such as 50,80,95,100,120,",
                                            [](std::string_view one) -> std::optional<double> {
                                              const auto percent = parse_number(one);
                                              if (!percent || *percent <= 0 || *percent > 1000) return std::nullopt;
                                              return *percent / 100;
                                            }));
    } else if (name == "--capacity") {
      const auto rate = parse_number(value);
      if (!rate || *rate <= 0 || *rate > 1e9) return wrong(name, value, "requests per second");
      options_.capacity = *rate;
    } else if (name == "--duration") {
      KEEL_TRY(plan.duration, duration(name, value, false));
    } else if (name == "--warmup") {
      KEEL_TRY(plan.warmup, duration(name, value, true));
    } else if (name == "--timeout") {
      KEEL_TRY(plan.timeout, duration(name, value, false));
    } else if (name == "--threads") {
      KEEL_TRY(const std::uint64_t threads, count(name, value, 1, 256));
      plan.threads = static_cast<int>(threads);
    } else if (name == "--depth") {
      KEEL_TRY(const std::uint64_t depth, count(name, value, 1, 1024));
      plan.depth = static_cast<int>(depth);
    } else if (name == "--churn") {
      KEEL_TRY(plan.requests_per_connection_max, count(name, value, 1, ~std::uint64_t{0}));
    } else if (name == "--roots") {
      options_.roots = value;
    } else if (name == "--sessions") {
      KEEL_TRY(const std::uint64_t sessions, count(name, value, 0, connections_max));
      options_.sessions = static_cast<int>(sessions);
    } else if (name == "--seed") {
      KEEL_TRY(plan.seed, count(name, value, 0, ~std::uint64_t{0}));
    } else if (name == "--engine") {
      if (value != "auto" && value != "uring" && value != "epoll") return wrong(name, value, "auto, uring or epoll");
      options_.engine = value == "auto"    ? io::EngineKind::Auto
                        : value == "uring" ? io::EngineKind::Uring
                                           : io::EngineKind::Epoll;
    } else if (name == "--cores") {
      KEEL_TRY(options_.cores,
               list<int>(name, value, "numbers of cores, such as 1,2,", [](std::string_view one) -> std::optional<int> {
                 const auto core = parse_count(one);
                 if (!core || *core > 1023) return std::nullopt;
                 return static_cast<int>(*core);
               }));
    } else if (name == "--busy-poll") {
      KEEL_TRY(options_.busy_poll, duration(name, value, true));
    } else if (name == "--mix") {
      KEEL_TRY(std::vector<RequestText> read, read_mix(std::string(value)));
      std::move(read.begin(), read.end(), std::back_inserter(mixed_));
    } else if (name == "--csv") {
      options_.csv = value;
    } else if (name == "--server-pid") {
      KEEL_TRY(const std::uint64_t pid, count(name, value, 1, 1u << 22));
      options_.server_pid = static_cast<int>(pid);
    } else if (name == "--server-cores") {
      KEEL_TRY(const std::uint64_t cores, count(name, value, 1, 1024));
      options_.server_cores = static_cast<int>(cores);
    } else if (name == "--json") {
      if (value.empty()) return wrong(name, value, "a file, or - for the standard output,");
      options_.json = value;
    } else {
      return Error::text(Code::InvalidArgument, std::string(name) + ": there is no such option; see keel load --help");
    }
    return {};
  }

  // The option applies to the request that was named last or, before the first request, to all requests.
  Result<bool> take_of_request(std::string_view name, std::string_view value) {
    if (name == "--request") {
      RequestText request = common_;
      request.where = "--request '" + std::string(value) + "'";
      if (auto parsed = parse_request_line(value, request); !parsed) {
        return std::move(parsed.error()).because("--request");
      }
      options_.requests.push_back(std::move(request));
      return true;
    }
    RequestText& request = options_.requests.empty() ? common_ : options_.requests.back();
    Check& check = request.check;
    if (name == "--weight") {
      if (options_.requests.empty()) return wrong(name, value, "a --request before this option");
      KEEL_TRY(request.weight, count(name, value, 1, 1'000'000));
    } else if (name == "--header") {
      const std::size_t colon = value.find(':');
      if (colon == std::string_view::npos) return wrong(name, value, "'Name: value'");
      const std::string_view field = value.substr(colon + 1);
      const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
      request.headers.emplace_back(value.substr(0, colon), field.substr(begin));
    } else if (name == "--body") {
      request.body = value;
    } else if (name == "--body-file") {
      KEEL_TRY(request.body, read_file(std::string(value), body_file_bytes_max).because(name));
    } else if (name == "--expect-status") {
      KEEL_TRY(const std::uint64_t status, count(name, value, 200, 599));
      check.status = static_cast<int>(status);
    } else if (name == "--expect-body") {
      check.body = value;
    } else if (name == "--expect-contains") {
      check.contains.emplace_back(value);
    } else if (name == "--expect-length") {
      KEEL_TRY(check.length, count(name, value, 0, ~std::uint64_t{0}));
    } else if (name == "--expect-json") {
      KEEL_TRY(Check::Member member, parse_member(value).because(name));
      check.json.push_back(std::move(member));
    } else {
      return false;
    }
    return true;
  }

  Result<> finish() {
    if (options_.text.empty()) return fail(Code::InvalidArgument, "a URL is missing, such as http://127.0.0.1:8080/");
    Plan& plan = options_.plan;
    const bool has_list = !options_.requests.empty() || !mixed_.empty();
    if (has_list && options_.url.target != "/") {
      return fail(Code::InvalidArgument, "the URL has a path, and there is a --request or --mix: use only one of them");
    }
    std::move(mixed_.begin(), mixed_.end(), std::back_inserter(options_.requests));
    if (!has_list) {
      KEEL_TRY_VOID(parse_request_line(options_.url.target, common_));
      common_.where = "the request";
      options_.requests.push_back(common_);
    }
    if (!options_.url.is_secure && (!options_.roots.empty() || options_.sessions != 0)) {
      return fail(Code::InvalidArgument, "--roots and --sessions are only for an https URL");
    }
    if (rate_ && !options_.steps.empty()) {
      return fail(Code::InvalidArgument, "--rate and --steps: only one of them may be given");
    }
    if (options_.capacity > 0 && options_.steps.empty()) return fail(Code::InvalidArgument, "--capacity needs --steps");
    if (arrivals_ && !rate_ && options_.steps.empty()) {
      return fail(Code::InvalidArgument,
                  "--arrivals needs --rate or --steps: without a rate, each response triggers the next request");
    }
    if (options_.server_cores > 0 && options_.server_pid == 0) {
      return fail(Code::InvalidArgument, "--server-cores needs --server-pid");
    }
    if (plan.connections.from < plan.threads) {
      return fail(Code::InvalidArgument,
                  "--threads: each thread needs a connection, but there are more threads than --connections");
    }
    if (rate_ || !options_.steps.empty()) {
      plan.open = Schedule::Options{
          .rate = rate_.value_or(Rate()), .arrivals = arrivals_.value_or(Arrivals::Poisson), .seed = plan.seed};
    }
    return {};
  }

  Options options_;
  RequestText common_;
  std::vector<RequestText> mixed_;
  std::optional<Rate> rate_;
  std::optional<Arrivals> arrivals_;
};

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Url url;
  if (text.starts_with("unix:/")) {
    url.unix_path = text.substr(5);
    url.authority = "localhost";
    return url;
  }
  url.is_secure = text.starts_with("https://");
  if (!url.is_secure && !text.starts_with("http://")) {
    return wrong("URL", text, "http[s]://host:port/path or unix:/path");
  }
  KEEL_TRY(const http::Url parsed, http::Url::parse(text).because("'" + std::string(text) + '\''));
  url.host = parsed.host();
  url.port = parsed.port();
  url.target = parsed.target();
  url.authority = parsed.authority();
  return url;
}

Result<Options> parse_options(const std::vector<std::string>& arguments) { return Parser().parse(arguments); }

std::string_view help() noexcept {
  return R"(keel load URL [options]   loads an HTTP/1.1 server, checks its responses and measures how fast they are

  keel load http://127.0.0.1:8080/hello                     as fast as 64 connections can: closed loop
  keel load http://127.0.0.1:8080/hello --rate 20000        20,000 a second, whatever the server does: open loop
  keel load http://127.0.0.1:8080/hello --steps 50,80,95,100,120   at these percentages of the measured capacity

How much
  --connections N|'A..B over T'   connections, or a ramp from A to B (64)
  --rate R|'A..B over T'          requests per second, due at times decided beforehand; latency counts from that time
  --arrivals poisson|constant     how these times are spread (poisson)
  --steps P,P,...                 one run for each of these percentages of the capacity
  --capacity R                    requests per second that count as 100 % (measured in a closed loop)
  --duration T                    measured time (10s)         --warmup T    before it (1s)
  --depth N                       pipelined requests (1)      --churn N     a new connection after N requests
  --timeout T                     for a response (5s)         --seed N      of arrivals, mix and templates (1)

What
  --request 'GET /x'              instead of the URL's path; several make a mix. The options below apply to the
                                  --request before them; those before the first --request apply to all:
  --weight N  --header 'A: b'  --body TEXT  --body-file FILE
  --expect-status N  --expect-body TEXT  --expect-contains TEXT  --expect-length N  --expect-json user.name=Ada
  --mix FILE                      requests from YAML          --csv FILE    values for {csv.COLUMN}
  Paths and bodies may hold {n}, {n:1..1000}, {random}, {random:1..1000}, {uuid} and {csv.COLUMN}.

Where
  --threads N (1)   --cores 1,2   (pins the threads)   --engine auto|uring|epoll
  --busy-poll T     polls for this long before it sleeps (20us where each thread has its own core, else 0)
  --server-pid PID  shows the server's CPU time, and whether the server or this client is the bottleneck
  --server-cores N  how many cores the server has (default: those that it may run on)
  --roots FILE      for https: the trusted root certificates, in PEM (the system's)
  --sessions N      for https: how many sessions are kept and resumed (0: each new connection makes a full handshake)
  --json FILE       writes the whole report as JSON; - writes it to standard output instead of the text

Exit code: 0 when all responses were as expected, 1 when one was not or no server responded, 2 when the options are
wrong, 130 when interrupted (Ctrl-C: the results so far are shown).
)";
}

}  // namespace keel::load
