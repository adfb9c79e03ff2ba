#include "keel/http/server/rejection.h"

#include <utility>

namespace keel::http {

Error Rejection::error(What what, Violations violations) {
  Error error = violations.error();
  auto* const details = new Rejection(what);
  details->violations_ = std::move(violations);
  return std::move(error).with(details);
}

Error Rejection::unsupported(const char* expected, const char* accept_field, const char* accepted) {
  auto* const details = new Rejection(What::ContentType);
  details->accept_field_ = accept_field;
  details->accepted_ = accepted;
  return Error(Code::InvalidArgument, expected).with(details);
}

Error Rejection::too_large(const char* what) {
  return Error(Code::InvalidArgument, what).with(new Rejection(What::Size));
}

const Rejection* Rejection::of(const Error& error) noexcept {
  if (error.code() != Code::InvalidArgument) return nullptr;
  return dynamic_cast<const Rejection*>(error.details());
}

Status Rejection::status() const noexcept {
  if (what_ == What::ContentType) return Status::UnsupportedMediaType;
  if (what_ == What::Size) return Status::ContentTooLarge;
  return what_ == What::Query || what_ == What::Parameters || violations_.is_malformed() ? Status::BadRequest
                                                                                         : Status::UnprocessableContent;
}

const Error::Details* Rejection::clone() const { return new Rejection(*this); }

}  // namespace keel::http
