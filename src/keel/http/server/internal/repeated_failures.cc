#include "keel/http/server/internal/repeated_failures.h"

#include <algorithm>
#include <functional>
#include <span>

#include "keel/base/ascii.h"

namespace keel::http {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) noexcept { state_ = (state_ ^ word) * 0x9E3779B97F4A7C15 ^ state_ >> 29; }
  void add(std::string_view text) noexcept { add(std::hash<std::string_view>()(text)); }
  void add(const void* literal) noexcept { add(reinterpret_cast<std::uintptr_t>(literal)); }
  std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0;
};

std::uint64_t hash_of_reason(log::Message message, const Error& error, std::string_view route) noexcept {
  Hash hash;
  hash.add(message.view().data());
  hash.add(static_cast<std::uint64_t>(error.code()) << 8 | static_cast<std::uint64_t>(error.errno_value()));
  hash.add(route);
  hash.add(error.statement());
  hash.add(error.place().file_name());
  hash.add(error.place().line());
  return hash.value();
}

// A hash of the text that does not depend on the numbers in the text, because these are ports, ids and times.
std::uint64_t hash_of_words(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325;
  bool is_in_number = false;
  for (const char c : text) {
    const bool is_digit = ascii::is_digit(c);
    if (is_digit && is_in_number) continue;
    is_in_number = is_digit;
    hash = (hash ^ (is_digit ? '0' : static_cast<unsigned char>(c))) * 0x100000001B3;
  }
  return hash;
}

}  // namespace

bool RepeatedFailures::is_news(log::Message message, const Error& error, Level level, std::string_view route) noexcept {
  if (io::Loop::current() != &loop_) return true;
  try {
    Kind& kind = kind_of(hash_of_reason(message, error, route), message, error, level, route);
    const Instant now = loop_.now();
    kind.state.enter(now);
    kind.state.leave(now);
    if (const Span* const span = current_span()) kind.trace = span->trace;
    if (!is_watching_ && !is_stopped_) {
      loop_.start_timer(timer_, now + log::RepeatedState::calm);
      is_watching_ = true;
    }
    const std::uint64_t text = hash_of_words(error.message());
    const std::span known(kind.texts, kind.text_count);
    if (known.size() == texts_max || std::ranges::find(known, text) != known.end()) {
      ++kind.suppressed;
      return false;
    }
    kind.texts[kind.text_count++] = text;
    kind.error = error.clone();
  } catch (...) {  // If there is no memory to count the failure, it is logged.
  }
  return true;
}

RepeatedFailures::Kind& RepeatedFailures::kind_of(std::uint64_t hash, log::Message message, const Error& error,
                                                  Level level, std::string_view route) {
  constexpr std::uint64_t others = 0;
  if (const auto known = std::ranges::find(kinds_, hash, &Kind::hash); known != kinds_.end()) return *known;
  if (kinds_.size() >= kinds_max) {
    hash = others;
    if (const auto known = std::ranges::find(kinds_, hash, &Kind::hash); known != kinds_.end()) return *known;
  }
  return kinds_.emplace_back(hash, level, message.view(), hash == others ? std::string() : std::string(route),
                             error.clone());
}

void RepeatedFailures::look() {
  is_watching_ = false;
  std::erase_if(kinds_, [this](Kind& kind) {
    switch (kind.state.look(loop_.now())) {
      case log::RepeatedState::Report::Over:
        if (kind.suppressed != 0) say_over(kind);
        return true;
      case log::RepeatedState::Report::Continues:
        if (kind.suppressed != kind.said) say_continues(kind);
        break;
      case log::RepeatedState::Report::Nothing:
        break;
    }
    return false;
  });
  if (kinds_.empty()) return;
  loop_.start_timer(timer_, loop_.now() + log::RepeatedState::calm);
  is_watching_ = true;
}

void RepeatedFailures::stop() noexcept {
  is_stopped_ = true;
  loop_.stop_timer(timer_);
  is_watching_ = false;
  for (Kind& kind : kinds_) {
    if (kind.suppressed != kind.said) say_continues(kind);
  }
}

void RepeatedFailures::say_continues(Kind& kind) noexcept {
  const Span span{kind.trace};
  const ScopedSpan scoped(span);
  try {
    log::Failure(kind.error, kind.level)
        .log(log_, "requests still fail for the same reason", log::field("failure", kind.message),
             log::field("route", kind.route), log::field("times", kind.state.times()),
             log::field("suppressed", kind.suppressed), log::field("duration", kind.state.lasted(loop_.now())),
             log::field("worker", loop_.index()));
    kind.said = kind.suppressed;
  } catch (...) {  // If there is no memory for the line, the next line contains the number of failures.
  }
}

void RepeatedFailures::say_over(const Kind& kind) noexcept {
  const Span span{kind.trace};
  const ScopedSpan scoped(span);
  log_.info("requests no longer fail for this reason", log::field("failure", kind.message),
            log::field("route", kind.route), kind.error, log::field("times", kind.state.times()),
            log::field("suppressed", kind.suppressed), log::field("duration", kind.state.lasted(loop_.now())),
            log::field("worker", loop_.index()));
}

}  // namespace keel::http
