// keel/app/internal/succession.h — where an App's listening sockets come from and go to: a service manager or the
// predecessor process (the module "handover") may pass them in, and a successor process may take them over.
//
// Threads: the main thread and the modules that listen, one after the other.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "keel/app/handover.h"
#include "keel/app/internal/certificates.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/supervision.h"
#include "keel/app/listeners.h"
#include "keel/http/server/server.h"

namespace keel::app::internal {

class Succession {
 public:
  // Sockets on which a server can listen instead of binding an address; the Succession still owns them.
  struct Inherited {
    std::vector<int> sockets;
    // The service manager continues to listen on these sockets when this process stops listening on them.
    bool is_kept = false;
  };
  // A server whose sockets a successor may take over.
  struct Shared {
    const char* name;
    // Returns a duplicate of each socket's descriptor; the caller owns the duplicates.
    Function<std::vector<int>()> duplicate;
    bool is_kept;
  };

  Succession(const Registrar& registrar, Supervision& supervision, Certificates& certificates)
      : registrar_(registrar), supervision_(supervision), certificates_(certificates) {}
  Succession(const Succession&) = delete;
  Succession& operator=(const Succession&) = delete;

  // Takes over the sockets that a service manager passes. Errors: Listeners::from_environment().
  Result<> adopt();
  // Adds the module that finds the predecessor, if network.handover.path is set.
  void add_module();
  bool has_module() const noexcept { return !registrar_.settings.network.handover.path.empty(); }

  // Returns the sockets for the server `name`; `address` is the address at which the configuration makes that server
  // listen. Sockets of a service manager are used whatever their address; sockets of a predecessor are used only if
  // their address agrees with `address`.
  Inherited find(std::string_view name, const Address& address) const;
  bool has_predecessor() const noexcept { return predecessor_.has_value(); }
  // What a server that stops does with its listening sockets: it closes them, or leaves them open for another process.
  http::Listening after_stop(bool is_kept) const noexcept;

  // Tells the predecessor to end; call this function when all modules serve.
  void relieve();
  // From this call on, a successor may connect, and gets the sockets of `servers`.
  void publish(std::span<const Shared> servers);
  // Stops serving successors. Returns whether a successor has the sockets.
  Handover::State end();
  // The process id of the successor; call this function after end(), if a successor is ready.
  pid_t successor() const noexcept { return handover_->successor(); }

 private:
  Result<> start();

  const Registrar& registrar_;
  Supervision& supervision_;
  Certificates& certificates_;  // The certificates whose ticket keys a successor gets.
  Listeners activated_;         // The sockets from the service manager.
  std::optional<Predecessor> predecessor_;
  std::unique_ptr<Handover> handover_;
  Handover::State handed_ = Handover::State::Kept;
};

}  // namespace keel::app::internal
