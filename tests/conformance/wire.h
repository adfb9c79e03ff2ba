// Many raw connections at the same time: pieces of bytes go out in rounds, and what comes back is read to its end.
//
//   std::vector<Exchange> all(10, Exchange{.pieces = {"GET / HT", "TP/1.1\r\n…"}});
//   exchange(port, all, {.pause = 1_ms});

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/time.h"
#include "keel/net/tls/context.h"

namespace conformance {

struct Reply {
  int status = 0;
  std::string head;  // With the line end of its last field.
  std::string body;

  // The value of the first field of that name, written like this; "" when there is none.
  std::string field(std::string_view name) const;
  bool closes() const { return field("Connection") == "close"; }
};

struct Exchange {
  std::vector<std::string_view> pieces = {};  // What they view outlives the exchange.
  bool finishes = false;                      // Nothing more will be written (FIN), behind the last piece.

  std::string received = {};
  std::size_t first_bytes = 0;  // Of `received`, by the first read.
  bool ended = false;           // The peer finished writing; over TLS: with close_notify.
  bool reset = false;           // Or cut it off.
  keel::Duration took = {};     // From the connection to the end.
};

struct Pace {
  keel::Duration pause = keel::Duration::milliseconds(0);  // Behind each round of pieces.
  keel::Duration patience = keel::Duration::seconds(4);    // For all ends, behind the last round.
};

// From now on each connection speaks TLS, to a server "localhost"; each piece is a record or more of its own.
void speak_tls(const keel::tls::ClientContext& context);

// Runs them beside each other, a few hundred at a time.
void exchange(std::uint16_t port, std::vector<Exchange>& all, const Pace& pace);
// One alone.
Exchange exchange(std::uint16_t port, std::string_view bytes, bool finishes = false);

// The replies at the front of `bytes`, interim ones left out; answers to HEAD are those whose place in `to_head` is
// true. `rest` is what follows the last whole one.
std::vector<Reply> replies(std::string_view bytes, const std::vector<bool>& to_head = {},
                           std::string_view* rest = nullptr);

}  // namespace conformance
