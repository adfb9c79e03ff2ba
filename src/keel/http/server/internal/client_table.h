// keel/http/server/internal/client_table.h — counts the connections and the memory for bodies that each client address
// uses on a worker.
//
// Internal to http. A client is an IPv4 address or the /64 network of an IPv6 address (client_of()). A client has a
// place in the table only while it has a connection, so there are never more places in use than connections. The hash
// of the table is keyed, so that an attacker cannot choose addresses that collide.
//
// Threads: the worker.
// Cost:    a keyed hash and one or two cache lines for each connection, nothing for a request. Memory: 48 bytes times
//          the largest number of clients so far.

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
  std::uint32_t next = 0;     // The next entry of the same bucket, or the next entry of the free list.
  std::uint32_t connections = 0;
  std::uint32_t bodies = 0;    // The number of the client's bodies in memory.
  std::size_t body_bytes = 0;  // The memory for the client's bodies.
  bool is_public = false;      // Whether the address is public.
  bool is_told = false;        // Whether a log line about the client's connections was already written.
};

class ClientTable {
 public:
  explicit ClientTable(SipKey key) noexcept : key_(key) {}
  ClientTable(const ClientTable&) = delete;
  ClientTable& operator=(const ClientTable&) = delete;

  // Adds a connection of a client and returns the place of the client, which is never 0. `address` has at most eight
  // bytes. After std::bad_alloc, nothing has changed.
  std::uint32_t enter(std::string_view address);
  // Removes a connection of the client; when the client has no connections left, its place is free for another client.
  void leave(std::uint32_t place) noexcept;
  // The reference is valid until the next enter().
  ClientEntry& at(std::uint32_t place) noexcept { return entries_[place]; }
  // The number of clients that have a connection.
  std::size_t size() const noexcept { return size_; }

 private:
  void make_room();

  const SipKey key_;
  std::vector<ClientEntry> entries_;    // The first entry is not used.
  std::vector<std::uint32_t> buckets_;  // The number of buckets is a power of two, and at least the number of entries.
  std::uint32_t free_ = 0;              // The first entry of the free list; 0: the list is empty.
  std::size_t size_ = 0;
};

}  // namespace keel::http
