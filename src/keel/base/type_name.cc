#include "keel/base/type_name.h"

namespace keel {

std::string plain_name(std::string_view name) {
  std::string plain(name);
  for (const std::string_view noise : {"{anonymous}::", "(anonymous namespace)::", "<unnamed>::"}) {
    for (std::size_t at; (at = plain.find(noise)) != std::string::npos;) plain.erase(at, noise.size());
  }
  return plain;
}

}  // namespace keel
