// keel/net/proxy_header.h — the header of the PROXY protocol, versions 1 and 2: a proxy that forwards connections sends
// it as the first bytes of a connection, to name the client.
//
//   const ProxyHeader header = parse_proxy_header(received);
//   if (header.state == ProxyHeader::State::Complete) received.remove_prefix(header.size);
//
// Any client can send a PROXY header. Parse a PROXY header on every connection from the address of a known proxy, and
// on no other connection: otherwise a client could send a forged header.
//
// Version 1 is a line of at most 107 bytes; version 2 is binary and is accepted up to 4 KiB. Of the extensions (TLVs)
// of version 2, CRC32C is checked when present; the other extensions are skipped, PP2_TYPE_SSL among them. The address
// to which the client connected is checked, but not reported.
//
// Errors:  State::Refused, with a `reason`, as soon as no further bytes could make the header valid.
// Threads: a function.
// Cost:    one pass over the header; no allocation.
// Source:  https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/io/address.h"

namespace keel {

struct ProxyHeader {
  enum class State : std::uint8_t { Incomplete, Complete, Refused };
  // The sender of the bytes that follow the header.
  enum class Sender : std::uint8_t {
    Proxy,   // The proxy itself, for example in a health check (LOCAL of version 2).
    Client,  // The client, whose address is in the field `client`.
    // A client whose address the proxy does not name: UNKNOWN of version 1; in version 2 a Unix socket, a datagram or
    // an unspecified family.
    Unknown,
  };
  State state = State::Incomplete;
  Sender sender = Sender::Unknown;
  std::size_t size = 0;     // State::Complete: the size of the header.
  Address client = {};      // Sender::Client: the address and the port of the client.
  const char* reason = "";  // State::Refused: the reason, a literal.
};

// `received` has all bytes received on the connection so far, from the first one on.
ProxyHeader parse_proxy_header(std::string_view received) noexcept;

}  // namespace keel
