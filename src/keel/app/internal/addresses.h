// keel/app/internal/addresses.h — the addresses at which an App listens, and the mistakes in these addresses.
//
// The modules that listen start one after the other, and the start ends at the first module that fails. Therefore
// report() tries the remaining listeners after the first failure, so that one start reports every mistake.
//
// Threads: call add() on the main thread; call report() in the modules that listen, which start one after the other;
//          call further() after these modules have started.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keel/app/internal/succession.h"
#include "keel/app/internal/workers.h"
#include "keel/base/result.h"
#include "keel/io/address.h"

namespace keel::app::internal {

class Addresses {
 public:
  Addresses(Workers& workers, const Succession& succession) : workers_(workers), succession_(succession) {}
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

  // Announces that the listener `name` will listen at `address`. `section` names the listener in errors; the
  // configuration keys of the listener's address and port begin with `keys`. `socket_mode` is the mode of a Unix
  // socket.
  void add(std::string_view name, const Address& address, std::string_view section, std::string_view keys,
           std::uint32_t socket_mode = 0);
  // Returns `started`, the result of starting the listener `name`. An error names the section of the listener and a
  // remedy.
  Result<> report(std::string_view name, Result<> started);
  // The errors of the other listeners that could not start, one line for each; empty before report() has returned an
  // error.
  const std::vector<std::string>& further() const noexcept { return further_; }

 private:
  struct Entry {
    std::string name;
    Address address;
    std::string section;
    std::string keys;
    std::uint32_t socket_mode;
    bool is_tried = false;
    bool listens = false;
  };
  Result<> try_to_listen(const Entry& entry);
  Result<> explain(const Entry& entry, Result<> result) const;

  Workers& workers_;
  const Succession& succession_;
  std::vector<Entry> entries_;
  std::vector<std::string> further_;
};

}  // namespace keel::app::internal
