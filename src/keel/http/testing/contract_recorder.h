// keel/http/testing/contract_recorder.h — records the requests and responses of a service, for `keel api init`.
//
//   KEEL_RECORD_CONTRACT=records ctest …         // each test program writes records/<process>.json
//
// A TestApp (app/testing/test_app.h) creates one if the environment variable below names a folder. For each route of
// the service the recorder keeps the types that its handler has read, and the statuses, types and a few fields of its
// responses below 500. Types are known if the sources were compiled with KEEL_RECORD_CONTRACT
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
  // Returns everything that was recorded so far as JSON: {"operations":[…],"components":{…}}, in the order of their
  // names.
  std::string text() const;
  // Writes that text to a file of this process in `folder`, which is created.
  Result<> save(const std::string& folder) const;

  // If KEEL_RECORD_CONTRACT is in the environment: creates an active recorder for the rest of the process, unless there
  // is one.
  static void begin();
  // Writes what that recorder has seen so far, if there is one.
  static void end();

  void asks(const Request& request, Part part, std::string_view name, Describe type, const char* function) override;
  std::string_view content_type_of(Describe type) override;
  void responds(const Request& request, const Response& response) override;
  void serves(const Router& router) override;

 private:
  struct Operation {
    std::string handler;  // The handler's name without namespaces and classes; empty: unknown.
    std::map<std::pair<std::string, std::string>, std::string> asked;  // The schema for each part and name.
    std::set<std::string> request_types;                               // Content-Type, without parameters.
    struct Response {
      // The schema for each content type, "" for none; the schema is "" if the type is unknown.
      std::map<std::string, std::string> schemas;
      std::set<std::string> fields;
    };
    std::map<int, Response> responses;
  };

  // Null: the request was not for a route of the service.
  Operation* operation_of(const Request& request);

  mutable std::mutex mutex_;
  json::Schemas schemas_;
  std::map<std::pair<std::string, std::string>, Operation> operations_;  // The key is the path and the method.
  std::set<std::pair<const char*, Method>> routes_;
  std::map<Describe, std::unique_ptr<std::string>> content_types_;
  std::map<const char*, Describe> types_;  // The key is the address of the content type.
};

}  // namespace keel::http
