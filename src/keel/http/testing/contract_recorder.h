// keel/http/testing/contract_recorder.h — records the requests and responses of a service, for `keel api init`.
//
//   KEEL_RECORD_CONTRACT=records ctest …         // each test program writes records/<process>.json
//
// A TestApp (app/testing/test_app.h) creates a recorder if the environment variable above names a folder. For each
// route of the service, the recorder keeps the types that the handler has read and, for responses below 500, the
// statuses, the types and a few fields. Types are recorded only if the sources were compiled with KEEL_RECORD_CONTRACT
// (http/server/recording.h).
//
// Threads: any.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/result.h"
#include "keel/data/json_schema.h"
#include "keel/http/message/method.h"
#include "keel/http/server/recording.h"

namespace keel::http {

class ContractRecorder final : public Recorder {
 public:
  // Returns everything that was recorded so far as JSON: {"operations":[…],"components":{…}}, ordered by name.
  std::string text() const;
  // Writes text() to a file in `folder`, which is created; each process has its own file.
  Result<> save(const std::string& folder) const;

  // If KEEL_RECORD_CONTRACT is set in the environment, creates a recorder that is active for the rest of the process,
  // unless one exists already.
  static void begin();
  // Writes what the active recorder has recorded so far, if there is an active recorder.
  static void end();

  void asks(const Request& request, Part part, std::string_view name, Describe type, const char* function) override;
  std::string_view content_type_of(Describe type) override;
  void responds(const Request& request, const Response& response) override;
  void serves(const Router& router) override;

 private:
  struct Operation {
    std::string handler;  // The handler's name without namespaces and classes; empty if it is unknown.
    // The schema for each name in each part of a request.
    std::map<std::pair<std::string, std::string>, std::string> asked;
    std::set<std::string> request_types;  // Content-Type, without parameters.
    struct Response {
      // The schema for each content type, where the content type "" stands for no body; the schema is "" if the type is
      // unknown.
      std::map<std::string, std::string> schemas;
      std::set<std::string> fields;
    };
    std::map<int, Response> responses;
  };

  // Null: the request does not belong to a route of the service.
  Operation* operation_of(const Request& request);

  mutable std::mutex mutex_;
  json::Schemas schemas_;
  std::map<std::pair<std::string, std::string>, Operation> operations_;  // The key is the path and the method.
  std::set<std::pair<const char*, Method>> routes_;
  std::map<Describe, std::unique_ptr<std::string>> content_types_;
  std::map<const char*, Describe> types_;  // The key is the address of the content type.
};

}  // namespace keel::http
