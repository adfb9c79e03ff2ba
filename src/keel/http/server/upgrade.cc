#include "keel/http/server/upgrade.h"

#include <utility>

#include "keel/http/message/fields.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/internal/upgraded.h"

namespace keel::http {
namespace {

// Whether a list, which may come in several fields, names `wanted`.
bool lists(const RequestHead& head, std::string_view name, std::string_view wanted) noexcept {
  for (unsigned i = 0; i < head.field_count(); ++i) {
    const Field field = head.field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    if (http::lists(field.value, wanted)) return true;
  }
  return false;
}

}  // namespace

bool offers_upgrade(const RequestHead& head, std::string_view protocol) noexcept {
  if (!head.has(Known::Upgrade) || !head.has(Known::Connection) || head.version_minor() == 0) return false;
  return head.method() != Method::Head && lists(head, "connection", "upgrade") && lists(head, "upgrade", protocol);
}

Upgrade::Upgrade(std::string_view protocol, Callable talk) : made_(Upgraded::make(protocol, std::move(talk))) {}
std::string_view Upgrade::protocol() const noexcept { return made_->protocol(); }
void Upgrade::free() noexcept { Upgraded::free(made_); }

}  // namespace keel::http
