#include "keel/app/health.h"

#include <algorithm>
#include <string>

#include "keel/base/check.h"
#include "keel/data/json.h"

namespace keel::app {
namespace {

void write_check(json::Writer& out, std::string_view name, const Result<>& result) {
  out.begin_object().key("name").string(name).key("status").string(result ? "ok" : "failing");
  if (!result) out.key("reason").string(result.error().describe());
  out.end_object();
}

}  // namespace

Health::~Health() { KEEL_CHECK(entries_.empty(), "a Health outlives its checks"); }

Health::Check Health::add(std::string_view name, Kind kind, Function<Result<>()> test) {
  const std::lock_guard lock(mutex_);
  for (const Entry& e : entries_) {
    KEEL_CHECK(e.kind != kind || e.name != name, "a health check's name is used once");
  }
  entries_.push_back({++last_id_, std::string(name), kind, std::move(test)});
  return Check(*this, last_id_);
}

void Health::remove(std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [id](const Entry& e) { return e.id == id; });
}

void Health::start_complete() {
  const std::lock_guard lock(mutex_);
  started_ = true;
}

void Health::drain(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  drain_reason_ = reason;
}

bool Health::live(Buffer& out) { return render(out, Kind::Liveness); }
bool Health::ready(Buffer& out) { return render(out, Kind::Readiness); }

bool Health::render(Buffer& out, Kind kind) {
  const std::lock_guard lock(mutex_);
  // The verdict stands first and is known last: the checks are written aside.
  Buffer aside;
  json::Writer checks(aside);
  bool well = true;
  checks.begin_array();
  const auto add = [&](std::string_view name, const Result<>& result) {
    well = well && result.is_ok();
    write_check(checks, name, result);
  };
  if (kind == Kind::Readiness) {
    add("start", started_ ? Result<>() : Result<>(Error(Code::Unavailable, "not complete")));
    if (draining_) add("drain", Result<>(Error::text(Code::Unavailable, drain_reason_)));
  }
  for (const Entry& e : entries_) {
    if (e.kind == kind) add(e.name, e.test());
  }
  checks.end_array();
  json::Writer(out)
      .begin_object()
      .key("status")
      .string(well ? "ok" : "failing")
      .key("checks")
      .raw(aside.view())
      .end_object();
  return well;
}

}  // namespace keel::app
