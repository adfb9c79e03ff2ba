#include "keel/net/tls/ticket_keys.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "keel/base/host.h"
#include "keel/net/tls/internal/context.h"
#include "keel/net/tls/internal/ticket_sealer.h"

namespace keel::tls {
namespace {

constexpr std::string_view saved_head = "keel ticket keys 1\n";

std::int64_t ticket_time() noexcept { return Host::current().wall_ns() / 1'000'000'000; }
constexpr std::int64_t in_seconds(Duration time) noexcept { return time.count_ms() / 1000; }

struct Key {
  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key() { OPENSSL_cleanse(this, sizeof *this); }
  unsigned char name[16];
  unsigned char cipher[32];
  unsigned char mac[32];
  std::int64_t made;
};

Key new_key() {
  Key key;
  if (RAND_bytes(key.name, sizeof key.name) != 1 || RAND_priv_bytes(key.cipher, sizeof key.cipher) != 1 ||
      RAND_priv_bytes(key.mac, sizeof key.mac) != 1) {
    throw std::bad_alloc();
  }
  key.made = ticket_time();
  return key;
}

}  // namespace

struct TicketKeys::State {
  std::mutex mutex;
  std::deque<Key> keys;  // The newest key is the first.

  // Returns the key that currently encrypts tickets. Hold the lock during the call.
  const Key& current() {
    const std::int64_t now = ticket_time();
    // The system clock may have been set back.
    if (now - keys.front().made >= in_seconds(seals_for) || now < keys.front().made) keys.push_front(new_key());
    while (keys.size() > 1 && now - keys.back().made >= in_seconds(seals_for) + in_seconds(opens_for)) keys.pop_back();
    return keys.front();
  }
};

TicketKeys::TicketKeys() : state_(std::make_shared<State>()) { state_->keys.push_front(new_key()); }
TicketKeys::TicketKeys(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

std::string TicketKeys::save() const {
  const std::lock_guard lock(state_->mutex);
  std::string text;
  // A buffer that grows would leave copies of keys in freed memory.
  text.reserve(saved_head.size() + state_->keys.size() * sizeof(Key));
  text = saved_head;
  for (const Key& key : state_->keys) text.append(reinterpret_cast<const char*>(&key), sizeof key);
  return text;
}

Result<TicketKeys> TicketKeys::load(std::string_view text) {
  static_assert(sizeof(Key) == 88, "without padding");
  const std::size_t bytes = text.size() - std::min(text.size(), saved_head.size());
  if (!text.starts_with(saved_head) || bytes == 0 || bytes % sizeof(Key) != 0) {
    return fail(Code::InvalidArgument, "the text does not contain keys of session tickets");
  }
  auto state = std::make_shared<State>();
  for (text.remove_prefix(saved_head.size()); !text.empty(); text.remove_prefix(sizeof(Key))) {
    Key key;
    std::memcpy(static_cast<void*>(&key), text.data(), sizeof key);
    state->keys.push_back(key);
  }
  return TicketKeys(std::move(state));
}

void TicketKeys::adopt(const TicketKeys& others) {
  if (state_ == others.state_) return;
  std::deque<Key> keys;
  {
    const std::lock_guard lock(others.state_->mutex);
    keys = others.state_->keys;
  }
  const std::lock_guard lock(state_->mutex);
  state_->keys.swap(keys);
}

namespace internal {
namespace {

// The cipher is fetched by its name only once, because every EVP_CipherInit_ex() with EVP_aes_256_cbc() would look it
// up again.
const EVP_CIPHER* ticket_cipher() noexcept {
  static const Owner<EVP_CIPHER, EVP_CIPHER_free> fetched(EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr));
  return fetched != nullptr ? fetched.get() : EVP_aes_256_cbc();
}

}  // namespace

void TicketSealer::attach(SSL_CTX* context, const TicketKeys& keys) noexcept {
  SSL_CTX_set_app_data(context, const_cast<TicketKeys*>(&keys));
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, &call);
}

// The results are those of the callback of SSL_CTX_set_tlsext_ticket_key_evp_cb(3). 0: the key is unknown; 1: success;
// 2: success, and the ticket has to be replaced.
int TicketSealer::call(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                       int seals) noexcept {
  const auto& keys = *static_cast<const TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  TicketKeys::State& state = *keys.state_;
  std::optional<Key> key;
  bool is_current = true;
  try {
    const std::lock_guard lock(state.mutex);
    const Key& current = state.current();
    if (seals != 0) {
      key = current;
    } else {
      for (const Key& one : state.keys) {
        if (std::memcmp(one.name, name, sizeof one.name) == 0) key = one;
      }
      is_current = key && std::memcmp(current.name, name, sizeof current.name) == 0;
    }
  } catch (const std::bad_alloc&) {
    return -1;
  }
  if (!key) return 0;
  if (seals != 0) {
    std::memcpy(name, key->name, sizeof key->name);
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(ticket_cipher())) != 1) return -1;
  }
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof key->mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  const bool is_ready = EVP_CipherInit_ex(cipher, ticket_cipher(), nullptr, key->cipher, iv, seals) == 1 &&
                        EVP_MAC_CTX_set_params(mac, parameters) == 1;
  if (!is_ready) return -1;
  // A client uses a ticket of TLS 1.3 only once (RFC 8446 §C.4), so it needs a new ticket from each connection.
  return is_current && SSL_version(ssl) != TLS1_3_VERSION ? 1 : 2;
}

}  // namespace internal
}  // namespace keel::tls
