// A service whose objects are made by the container: an interface and its implementation, a factory, a service with
// start() and stop(), one object for each request, and a bus through which a service receives another service's events
// on its own thread.
//
//   wiring --network.http.port=8080
//   curl http://127.0.0.1:8080/greet/Ada
//   curl 'http://127.0.0.1:9090/admin/graph?format=text'
//   curl http://127.0.0.1:9090/metrics | grep events_

#include <atomic>
#include <string>

#include "keel/app/app.h"
#include "keel/app/container.h"
#include "keel/events/bus.h"
#include "keel/http/server/router.h"
#include "keel/observe/log.h"

using namespace keel;

namespace {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int hour() const = 0;
};
class SystemClock : public Clock {
 public:
  int hour() const override { return static_cast<int>(Host::current().wall_ns() / 3'600'000'000'000 % 24); }
};

struct Phrases {
  std::string night = "Good night";
  std::string day = "Good day";
};
Result<Phrases> make_phrases(const app::Settings& settings) {
  if (settings.network.http.server.limits.head.request_line_bytes_max < 256)
    return fail(Code::InvalidArgument, "names need 256 bytes");
  return Phrases{};
}

class Greeter {
 public:
  Greeter(const Clock& clock, const Phrases& phrases) : clock_(clock), phrases_(phrases) {}
  std::string greet(std::string_view name) const {
    const bool is_night = clock_.hour() < 6;
    return (is_night ? phrases_.night : phrases_.day) + ", " + std::string(name) + ".";
  }

 private:
  const Clock& clock_;
  const Phrases& phrases_;
};

struct GuestSigned {
  std::string name;
  int number;
};

class Guestbook {
 public:
  explicit Guestbook(events::Bus& bus) : signed_(bus.topic<GuestSigned>()) {}
  Result<> start() {
    log_.info("the guest book is open");
    return {};
  }
  void stop() { log_.info("the guest book is closed", log::field("guests", guests_.load())); }
  int sign(std::string_view name) {
    const int number = ++guests_;
    signed_.publish(GuestSigned{std::string(name), number});
    return number;
  }

 private:
  log::Logger log_{"guestbook"};
  const events::Topic<GuestSigned> signed_;
  std::atomic<int> guests_ = 0;
};

// Handles events about guests on a separate thread, so that no request waits.
class Gazette {
 public:
  Gazette(events::Bus& bus, Executor& executor)
      : subscription_(bus.subscribe<GuestSigned>(*this, &Gazette::print, {.executor = &executor})) {}

 private:
  void print(const GuestSigned& guest) {
    log_.info("a guest has signed", log::field("guest", guest.name), log::field("number", guest.number));
  }

  log::Logger log_{"gazette"};
  // This member is the last, so that it is destroyed before the objects that the handler uses.
  events::Subscription subscription_;
};

// The container makes one Visit for each request.
class Visit {
 public:
  Visit(http::Request& request, Guestbook& book, const Greeter& greeter)
      : request_(request), book_(book), greeter_(greeter) {}
  Result<http::Response> respond() {
    KEEL_TRY(const std::string_view name, request_.path_param<std::string_view>("name"));
    const std::string text = greeter_.greet(name) + " You are guest " + std::to_string(book_.sign(name)) + ".\n";
    return http::Response::text(http::Status::Ok, text);
  }

 private:
  http::Request& request_;
  Guestbook& book_;
  const Greeter& greeter_;
};

}  // namespace

int main(int argc, char** argv) {
  auto config = app::load_or_exit("wiring", argc, argv);
  app::App app("wiring", config);

  app::Container container;
  container.value(app.settings());
  container.value(app.metrics()).singleton<events::Bus>();
  container.value<Executor>(app.pool("gazette"));
  container.singleton<Clock, SystemClock>();
  container.singleton<Phrases>(make_phrases);
  container.singleton<Greeter>();
  container.singleton<Guestbook>();
  container.singleton<Gazette>();
  container.given<http::Request>();
  container.scoped<Visit>();
  const auto services = container.build();
  if (!services) app.fail_start(services.error());
  app.services(*services);

  http::Router router;
  router.get("/greet/{name}", [&](http::Request& request) -> Result<http::Response> {
    app::Services::Scope scope = services->scope(request.arena());
    scope.give(request);
    KEEL_TRY(Visit* const visit, scope.resolve<Visit>());
    return visit->respond();
  });
  app.serve(router);
  return app.run();
}
