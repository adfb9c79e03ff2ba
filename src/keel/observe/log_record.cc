#include "keel/observe/log_record.h"

#include <cstring>

namespace keel::log {

TraceId Record::trace() const noexcept {
  TraceId id;
  if (header_.level & internal::has_trace) {
    std::memcpy(&id, reinterpret_cast<const char*>(&header_) + sizeof header_, sizeof id);
  }
  return id;
}

}  // namespace keel::log
