#include "keel/db/value.h"

#include <cstring>
#include <new>
#include <source_location>
#include <string>

#include "keel/base/bug.h"
#include "keel/base/pool.h"

namespace keel::db {
namespace {

bool has_bytes(const Value& value) noexcept { return value.kind == ValueKind::Text || value.kind == ValueKind::Blob; }

}  // namespace

void internal::throw_nameless(std::int64_t value) {
  throw_bug("the value " + std::to_string(value) +
                " of an enum has no name and cannot be an argument of a statement: only values from 0 to 127 have "
                "names (enum_names.h)",
            std::source_location::current());
}

Arguments::Arguments(std::span<const Value> values) {
  if (values.empty()) return;
  std::size_t bytes = values.size_bytes();
  for (const Value& value : values) {
    if (has_bytes(value)) bytes += value.size;
  }
  block_ = pool_allocate(bytes);
  bytes_ = bytes;
  count_ = static_cast<std::uint32_t>(values.size());
  char* free = static_cast<char*>(block_) + values.size_bytes();
  Value* copy = static_cast<Value*>(block_);
  for (const Value& value : values) {
    new (copy) Value(value);
    if (has_bytes(value)) {
      std::memcpy(free, value.bytes, value.size);
      copy->bytes = free;
      free += value.size;
    }
    ++copy;
  }
}

Arguments::~Arguments() {
  if (block_ != nullptr) pool_free(block_, bytes_);
}

}  // namespace keel::db
