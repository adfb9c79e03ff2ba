// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <string>
#include <string_view>
#include <vector>

#include "keel/http/client/client.h"

using namespace keel;

struct Rate {
  std::string currency;
  double rate;
};
struct Views {
  std::vector<std::string_view> names;
};
class Closed {
 public:
  explicit Closed(int value) : value_(value) {}

 private:
  int value_;
};

Task<double> ask(http::Client& client) {
  const Rate rate = co_await client.get("http://rates.internal/eur").json<Rate>();
  const http::ClientResponse response = co_await client.post("http://rates.internal/", rate);
  const Rate other = co_await response.json<Rate>();
#if CASE == 1
  const auto views = co_await client.get("http://rates.internal/eur").json<Views>();
#elif CASE == 2
  const Views views = co_await response.json<Views>();
#elif CASE == 3
  const auto closed = co_await client.get("http://rates.internal/eur").json<std::vector<Closed> >();
#elif CASE == 4
  co_await client.post("http://rates.internal/", Closed(1));
#elif CASE == 5
  co_await client.post("http://rates.internal/", Rate{"EUR", 1});
#endif
  co_return rate.rate + other.rate;
}
