#include "keel/net/transport.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "keel/base/pool.h"

namespace keel {

void Endpoint::close() const noexcept { layer != nullptr ? layer->close() : engine->close(fd); }

void Transport::open(const Endpoint& endpoint) noexcept {
  KEEL_DCHECK(fd < 0 && endpoint.fd >= 0, "a transport can have only one endpoint at a time");
  static_assert(alignof(io::Engine) > layered && alignof(TransportLayer) > layered);
  fd = endpoint.fd;
  if (endpoint.layer == nullptr) {
    path_ = reinterpret_cast<std::uintptr_t>(endpoint.engine);
  } else {
    path_ = reinterpret_cast<std::uintptr_t>(endpoint.layer) + layered;
    over().transport_ = this;
    over().open();
  }
}

Endpoint Transport::detach() noexcept {
  KEEL_CHECK(!pending && !holds(), "a transport can be detached only when nothing is received or held");
  const Endpoint endpoint{&engine(), std::exchange(fd, -1), layer()};
  if (is_layered()) {
    over().transport_ = nullptr;
    path_ = reinterpret_cast<std::uintptr_t>(endpoint.engine);
  }
  return endpoint;
}

void Transport::close() noexcept { detach().close(); }

std::string_view Transport::hold_copy() noexcept {
  const std::string_view all = bytes();
  data = static_cast<char*>(pool_allocate(all.size()));
  std::memcpy(data, all.data(), all.size());
  held_size_ = static_cast<std::uint32_t>(all.size());
  return held();
}

void Transport::release_copy() noexcept {
  pool_free(data, held_size_);
  held_size_ = 0;
}

bool Transport::send(io::SendFile& send) noexcept {
  send.fd = fd;
  if (!is_layered()) return plain().submit(send);
  // The kernel would send the file unencrypted.
  send.result = -EOPNOTSUPP;
  return true;
}

bool Transport::establish(io::Send& send) noexcept {
  KEEL_DCHECK(send.part_count == 0, "establishing sends nothing");
  send.fd = fd;
  if (is_layered()) return over().send(send);
  send.result = 0;
  return true;
}

std::uint64_t Transport::progress(const io::Send& send) const noexcept {
  return is_layered() ? over().progress() : send.sent;
}

void Transport::reset_on_close() noexcept {
  static_cast<void>(engine().set_options(fd, {.reset_on_close = true}));
  if (is_layered()) over().reset_on_close();
}

void Transport::shutdown_write() noexcept { is_layered() ? over().shutdown_write() : plain().shutdown_write(fd); }
void Transport::shutdown() noexcept { is_layered() ? over().shutdown() : plain().shutdown(fd); }
bool Transport::has_unread() noexcept { return is_layered() ? over().has_unread() : plain().has_unread(fd); }

Error Transport::error(const char* doing, std::int32_t outcome) const noexcept {
  return is_layered() ? over().error(doing, outcome) : Error::from_errno(doing, -outcome);
}

// --- functions of a layer -----------------------------------------------------------------------------------------

bool TransportLayer::is_wanted() const noexcept {
  return transport_ != nullptr && transport_->pending && !transport_->paused;
}

void TransportLayer::deliver(std::string_view bytes) noexcept {
  KEEL_DCHECK(is_wanted() && !bytes.empty(),
              "a layer must deliver bytes only while its transport receives and is not paused");
  Transport& to = *transport_;
  to.data = const_cast<char*>(bytes.data());
  to.result = static_cast<std::int32_t>(bytes.size());
  to.more = true;
  to.done(to);
}

void TransportLayer::finish(std::int32_t outcome) noexcept {
  KEEL_DCHECK(transport_ != nullptr && transport_->pending, "the end of receiving can be reported only once");
  Transport& to = *transport_;
  to.pending = false;
  to.paused = false;
  to.more = false;
  to.result = outcome;
  to.done(to);
}

void TransportLayer::complete(io::Send& send, std::int32_t result) noexcept {
  send.pending = false;
  send.result = result;
  send.done(send);
}

}  // namespace keel
