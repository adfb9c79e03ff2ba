// Packets of a peer that keeps to nothing: what is read is bounded, what is written can be read, and a core that has
// been told anything continues or says why not.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/check.h"
#include "keel/net/sessions/internal/core.h"

namespace {

template <class Read, class P>
void reads_as_written(Read read, const P& packet) {
  keel::Buffer out;
  keel::sessions::internal::write(out, packet);
  KEEL_CHECK(read(out.view()).has_value(), "a packet that was read can be written and read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  using namespace keel::sessions::internal;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto hello = read_hello(input)) reads_as_written(read_hello, *hello);
  if (const auto welcome = read_welcome(input)) reads_as_written(read_welcome, *welcome);
  if (const auto bye = read_bye(input)) reads_as_written(read_bye, *bye);
  if (const auto packet = read_packet(input)) reads_as_written(read_packet, *packet);

  // A byte says what happens next, and how long the packet is that it takes.
  CoreOptions options;
  options.window = options.ring = {.messages = 4, .bytes = 1024};
  options.role = size % 2 == 0 ? Role::Client : Role::Server;
  Core core(options);
  Instant now = Instant::from_ns(1);
  std::uint64_t last = 0;
  Buffer out;
  for (std::size_t at = 0; at < size;) {
    const std::uint8_t what = data[at++];
    now = now + Duration::milliseconds(what);
    switch (what % 6) {
      case 0:
        if (core.is_linked()) core.unlink();
        break;
      case 1: {
        if (core.is_linked()) break;
        static_cast<void>(core.tell_point());
        const Result<> linked = core.link(now, {.seen = what / 6u, .handled = what / 12u}, {2, 512}, 1_s);
        KEEL_CHECK(linked || linked.error().code() == Code::Protocol, "a wrong point is an error of the protocol");
        break;
      }
      case 2: {
        Buffer payload;
        payload.append(input.substr(0, what));
        static_cast<void>(
            core.push(what, std::move(payload), static_cast<sessions::WhenFull>(what / 6 % 4), what / 24));
        break;
      }
      case 3:
        if (core.tick(now) == Core::Due::LinkLost) core.unlink();
        out.clear();
        while (core.next(now, out)) {
        }
        break;
      default: {
        if (!core.is_linked()) break;
        const std::size_t length = std::min<std::size_t>(what / 6, size - at);
        const Result<Core::Event> event = core.receive(now, input.substr(at, length));
        at += length;
        if (!event) {
          core.unlink();
          break;
        }
        if (event->kind == Core::Event::Kind::Message || event->kind == Core::Event::Kind::Lost) {
          KEEL_CHECK(event->number > last, "what has come once does not come again");
          last = event->number;
          if (what % 2 == 0) core.handled(now, event->number, event->cost());
        }
        break;
      }
    }
    KEEL_CHECK(core.ring_bytes() <= 1024 && core.unacknowledged() <= 4, "the ring is bounded");
    KEEL_CHECK(core.unhandled_bytes() <= 1024, "what waits to be handled is bounded");
    KEEL_CHECK(core.point().handled <= core.point().seen, "what was handled has come");
  }
  return 0;
}
