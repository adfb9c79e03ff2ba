// keel/http/server/internal/client_table.h — the share of each client address in a worker's connections and memory for
// bodies.
//
// Internal to http. A client is an IPv4 address or the /64 of an IPv6 one (client_of()). A client has a place as long
// as it has a connection, so there are never more places than connections. The table's hash is keyed: an attacker
// cannot choose addresses that collide.
//
// Threads: the worker.
// Cost:    a keyed hash and a cache line or two for a connection, nothing for a request; 48 bytes for each client,
//          counted at the largest number of clients so far.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "keel/base/siphash.h"

namespace keel::http {

struct ClientEntry {
  std::uint64_t hash = 0;
  std::uint64_t address = 0;  // The bytes of the address.
  std::uint32_t size = 0;     // The number of bytes of the address.
  std::uint32_t next = 0;     // The next entry of the same bucket, or the next free one.
  std::uint32_t connections = 0;
  std::uint32_t bodies = 0;    // The number of bodies in memory.
  std::size_t body_bytes = 0;  // The memory of the bodies.
  bool is_public = false;      // The address is a public one of the internet.
  bool is_told = false;        // A log line about the client's connections has been written.
};

class ClientTable {
 public:
  explicit ClientTable(SipKey key) noexcept : key_(key) {}
  ClientTable(const ClientTable&) = delete;
  ClientTable& operator=(const ClientTable&) = delete;

  // Adds a connection of a client and returns the place of the client, which is never 0. `address` has at most eight
  // bytes. std::bad_alloc: nothing has changed.
  std::uint32_t enter(std::string_view address);
  // Removes a connection of the client; with the last one its place becomes free for another client.
  void leave(std::uint32_t place) noexcept;
  // The reference is valid until the next enter().
  ClientEntry& at(std::uint32_t place) noexcept { return entries_[place]; }
  // The number of clients with a connection.
  std::size_t size() const noexcept { return size_; }

 private:
  void make_room();

  const SipKey key_;
  std::vector<ClientEntry> entries_;    // The first entry is not used.
  std::vector<std::uint32_t> buckets_;  // Their number is a power of two, and at least the number of entries.
  std::uint32_t free_ = 0;              // The first entry of the list of free places; 0: none.
  std::size_t size_ = 0;
};

}  // namespace keel::http
