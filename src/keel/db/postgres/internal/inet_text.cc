#include "keel/db/postgres/internal/inet_text.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>

namespace keel::db::postgres {
namespace {

constexpr unsigned char family_4 = 2;
constexpr unsigned char family_6 = 3;

// Whether all bits after the first `bits` bits are zero, as in the address of a network.
bool has_no_host(const unsigned char* address, std::size_t size, std::size_t bits) noexcept {
  for (std::size_t bit = bits; bit < size * 8; ++bit) {
    if ((address[bit / 8] >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace

bool append_inet_text(std::string_view bytes, bool is_cidr, Buffer& to) {
  if (bytes.size() < 4) return false;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const bool is_6 = byte(0) == family_6;
  const std::size_t size = is_6 ? 16 : 4;
  const unsigned bits = byte(1);
  if ((!is_6 && byte(0) != family_4) || byte(2) != (is_cidr ? 1 : 0) || byte(3) != size || bytes.size() != 4 + size ||
      bits > size * 8) {
    return false;
  }
  if (is_cidr && !has_no_host(reinterpret_cast<const unsigned char*>(bytes.data()) + 4, size, bits)) return false;
  char text[INET6_ADDRSTRLEN];
  if (inet_ntop(is_6 ? AF_INET6 : AF_INET, bytes.data() + 4, text, sizeof text) == nullptr) return false;
  to.append(text);
  if (is_cidr || bits != size * 8) {
    to.push_back('/');
    to.append(std::to_string(bits));
  }
  return true;
}

bool append_inet_bytes(std::string_view text, bool is_cidr, Buffer& to) {
  const std::size_t slash = text.find('/');
  const std::string_view part = text.substr(0, slash);
  char address[INET6_ADDRSTRLEN] = {};
  if (part.size() >= sizeof address || part.find('\0') != std::string_view::npos) return false;
  part.copy(address, part.size());
  const bool is_6 = part.find(':') != std::string_view::npos;
  const std::size_t size = is_6 ? 16 : 4;
  unsigned char bytes[16];
  if (inet_pton(is_6 ? AF_INET6 : AF_INET, address, bytes) != 1) return false;
  unsigned bits = static_cast<unsigned>(size) * 8;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || end != digits.data() + digits.size() || bits > size * 8) return false;
  }
  if (is_cidr && !has_no_host(bytes, size, bits)) return false;
  const unsigned char head[] = {is_6 ? family_6 : family_4, static_cast<unsigned char>(bits), is_cidr,
                                static_cast<unsigned char>(size)};
  to.append({reinterpret_cast<const char*>(head), sizeof head});
  to.append({reinterpret_cast<const char*>(bytes), size});
  return true;
}

}  // namespace keel::db::postgres
