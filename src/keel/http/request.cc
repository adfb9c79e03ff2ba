#include "keel/http/request.h"

#include <string>

#include "keel/base/check.h"
#include "keel/data/uri.h"

namespace keel::http {

Error Request::bad_parameter(std::string_view name, std::string_view expected) {
  return Error::text(Code::InvalidArgument, "parameter '" + std::string(name) + "': expected " + std::string(expected));
}

}  // namespace keel::http
