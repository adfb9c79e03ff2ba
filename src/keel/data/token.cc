#include "keel/data/token.h"

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/data/base64.h"

namespace keel {

std::string random_token(std::size_t bytes) {
  std::byte secret[64];
  KEEL_EXPECT(bytes >= 16 && bytes <= sizeof secret, "random_token() must be called for 16 to 64 bytes");
  Host::current().secret(std::span(secret, bytes));
  return base64::encode(std::span<const std::byte>(secret, bytes), base64::Form::Url);
}

}  // namespace keel
