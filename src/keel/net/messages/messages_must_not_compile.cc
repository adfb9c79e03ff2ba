// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <string>
#include <string_view>
#include <vector>

#include "keel/net/messages/handlers.h"
#include "keel/net/messages/message_stream.h"
#include "keel/net/messages/pool.h"

using namespace keel;
using namespace keel::messages;

struct Average {
  static constexpr std::uint16_t message_type = 1;
  std::string room;
};
struct Celsius {
  double value = 0;
};
struct Named {
  static constexpr std::uint16_t message_type = 2;
  std::string_view room;
};
struct Numbered {
  static constexpr std::uint16_t message_type = 0xff00;
  int value = 0;
};

Task<double> ask(Peer& peer, Pool& pool, Handlers& handlers) {
  const Average kitchen{"kitchen"};
  double celsius = 0;
#if CASE == 0
  celsius = (co_await peer.request<Celsius>(kitchen)).value;
  const Named named{"kitchen"};  // What is sent may have views.
  co_await peer.send(named);
  celsius += (co_await pool.request<Celsius>(kitchen)).value;
  handlers.on<Average>([](Peer&, Average) { return Celsius(); });
#elif CASE == 1
  celsius = (co_await peer.request<Celsius>(Average{"kitchen"})).value;
#elif CASE == 2
  co_await peer.send(Average{"kitchen"});
#elif CASE == 3
  celsius = (co_await pool.request<Celsius>(Average{"kitchen"})).value;
#elif CASE == 4
  MessageStream rows = co_await peer.open(Average{"kitchen"});
#elif CASE == 5
  const Named named = co_await peer.request<Named>(kitchen);
#elif CASE == 6
  handlers.on<Named>([](Peer&, Named) {});
#elif CASE == 7
  co_await peer.send(Celsius{1});
#elif CASE == 8
  co_await peer.send(Numbered{1});
#endif
  co_return celsius;
}
