#include "gen/statuses.h"

namespace keel::gen {
namespace {

struct StatusName {
  std::string_view code;
  std::string_view name;
};
// The names of status codes in IANA's registry, in snake_case.
constexpr StatusName status_names[] = {{"200", "ok"},
                                       {"201", "created"},
                                       {"202", "accepted"},
                                       {"203", "non_authoritative_information"},
                                       {"204", "no_content"},
                                       {"205", "reset_content"},
                                       {"206", "partial_content"},
                                       {"207", "multi_status"},
                                       {"208", "already_reported"},
                                       {"226", "im_used"},
                                       {"300", "multiple_choices"},
                                       {"301", "moved_permanently"},
                                       {"302", "found"},
                                       {"303", "see_other"},
                                       {"304", "not_modified"},
                                       {"307", "temporary_redirect"},
                                       {"308", "permanent_redirect"},
                                       {"400", "bad_request"},
                                       {"401", "unauthorized"},
                                       {"402", "payment_required"},
                                       {"403", "forbidden"},
                                       {"404", "not_found"},
                                       {"405", "method_not_allowed"},
                                       {"406", "not_acceptable"},
                                       {"408", "request_timeout"},
                                       {"409", "conflict"},
                                       {"410", "gone"},
                                       {"411", "length_required"},
                                       {"412", "precondition_failed"},
                                       {"413", "content_too_large"},
                                       {"414", "uri_too_long"},
                                       {"415", "unsupported_media_type"},
                                       {"416", "range_not_satisfiable"},
                                       {"417", "expectation_failed"},
                                       {"422", "unprocessable_content"},
                                       {"423", "locked"},
                                       {"424", "failed_dependency"},
                                       {"425", "too_early"},
                                       {"426", "upgrade_required"},
                                       {"428", "precondition_required"},
                                       {"429", "too_many_requests"},
                                       {"431", "request_header_fields_too_large"},
                                       {"451", "unavailable_for_legal_reasons"},
                                       {"500", "internal_server_error"},
                                       {"501", "not_implemented"},
                                       {"502", "bad_gateway"},
                                       {"503", "service_unavailable"},
                                       {"504", "gateway_timeout"},
                                       {"507", "insufficient_storage"},
                                       {"508", "loop_detected"},
                                       {"2XX", "success"},
                                       {"3XX", "redirection"},
                                       {"4XX", "client_error"},
                                       {"5XX", "server_error"},
                                       {"default", "other"}};

}  // namespace

std::string name_of_status(std::string_view status) {
  for (const auto& [code, name] : status_names) {
    if (code == status) return std::string(name);
  }
  return "status_" + std::string(status);
}

}  // namespace keel::gen
