#include "keel/observe/log_record.h"

#include <bit>
#include <cstring>

namespace keel::log {

TraceId Record::trace() const noexcept {
  TraceId id;
  if (header_.level & internal::has_trace) {
    std::memcpy(&id, reinterpret_cast<const char*>(&header_) + sizeof header_, sizeof id);
  }
  return id;
}

void Record::for_each(FunctionRef<void(const FieldView&)> f) const {
  const char* at = reinterpret_cast<const char*>(&header_) + sizeof header_;
  if (header_.level & internal::has_trace) at += sizeof(TraceId);
  for (int i = 0; i < header_.fields; ++i) {
    std::uint64_t words[2];
    std::memcpy(words, at, sizeof words);
    at += sizeof words;
    FieldView view;
    view.name = {reinterpret_cast<const char*>(words[0] >> 16), (words[0] >> 8) & 0xff};
    view.kind = static_cast<FieldKind>(words[0] & 0xff);
    view.word = words[1];
    if (view.kind == FieldKind::Double) view.number = std::bit_cast<double>(words[1]);
    if (view.kind == FieldKind::String || view.kind == FieldKind::Error) {
      const auto bytes = static_cast<std::uint32_t>(words[1]);
      view.text = {at, bytes};
      at += internal::rounded(bytes);
      view.code = static_cast<Code>((words[1] >> 32) & 0xff);
      view.errno_value = static_cast<int>(words[1] >> 40);
    }
    f(view);
  }
}

}  // namespace keel::log
