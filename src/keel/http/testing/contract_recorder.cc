#include "keel/http/testing/contract_recorder.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "keel/base/ascii.h"
#include "keel/base/buffer.h"
#include "keel/data/json_writer.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/http/server/router.h"

namespace keel::http {
namespace {

constexpr const char* variable = "KEEL_RECORD_CONTRACT";

// The response fields that are recorded, because a client of the service may need them; other fields belong to HTTP or
// to middleware.
constexpr std::array<std::string_view, 5> told_fields = {"Content-Disposition", "ETag", "Link", "Location",
                                                         "Retry-After"};

ContractRecorder* of_process = nullptr;

std::string_view part_name(Recorder::Part part) {
  switch (part) {
    case Recorder::Part::Body:
      return "body";
    case Recorder::Part::Query:
      return "query";
    case Recorder::Part::Form:
      return "form";
    case Recorder::Part::PathParameter:
      return "path-parameter";
    case Recorder::Part::QueryParameter:
      return "query-parameter";
  }
  return {};
}

// Returns the name of a handler, taken from the signature that the compiler writes: "create" for "Task<Response>
// shop::Orders::create(Request&)". Empty for a lambda, which has no name.
std::string_view name_in(std::string_view function) {
  for (const std::string_view none : {"<lambda", "operator()", "(anonymous class)"}) {
    if (function.find(none) != function.npos) return {};
  }
  function = function.substr(0, function.find('('));
  std::size_t begin = function.size();
  while (begin > 0 && (ascii::is_alphanumeric(function[begin - 1]) || function[begin - 1] == '_')) --begin;
  return function.substr(begin);
}

std::string media_type(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  for (char& c : type) c = ascii::to_lower(c);
  return type;
}

}  // namespace

ContractRecorder::Operation* ContractRecorder::operation_of(const Request& request) {
  if (!routes_.contains({request.route().data(), request.method()})) return nullptr;
  const auto found = operations_.find({std::string(request.route()), std::string(to_string(request.method()))});
  return found == operations_.end() ? nullptr : &found->second;
}

void ContractRecorder::asks(const Request& request, Part part, std::string_view name, Describe type,
                            const char* function) {
  const std::lock_guard lock(mutex_);
  Operation* const operation = operation_of(request);
  if (operation == nullptr) return;
  std::string& schema = operation->asked[{std::string(part_name(part)), std::string(name)}];
  if (schema.empty()) schema = type(schemas_);
  if (function != nullptr && (operation->handler.empty() || part == Part::Body || part == Part::Form))
    operation->handler = name_in(function);
}

std::string_view ContractRecorder::content_type_of(Describe type) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<std::string>& text = content_types_[type];
  if (text == nullptr) {
    text = std::make_unique<std::string>("application/json");
    types_[text->data()] = type;
  }
  return *text;
}

void ContractRecorder::responds(const Request& request, const http::Response& response) {
  const std::lock_guard lock(mutex_);
  Operation* const operation = operation_of(request);
  if (operation == nullptr || number(response.status()) >= 500) return;
  if (number(response.status()) < 300) {
    if (const auto type = request.header("Content-Type")) operation->request_types.insert(media_type(*type));
  }
  Operation::Response& told = operation->responses[number(response.status())];
  const std::string_view content_type = response.content_type();
  std::string& schema = told.schemas[media_type(content_type)];
  if (const auto type = types_.find(content_type.data()); type != types_.end() && schema.empty())
    schema = type->second(schemas_);
  for (const std::string_view name : told_fields) {
    if (response.field(name)) told.fields.emplace(name);
  }
}

void ContractRecorder::serves(const Router& router) {
  const std::lock_guard lock(mutex_);
  for (const Router::RouteName& route : router.routes()) {
    routes_.emplace(route.pattern.data(), route.method);
    operations_.try_emplace({std::string(route.pattern), std::string(to_string(route.method))});
  }
}

std::string ContractRecorder::text() const {
  const std::lock_guard lock(mutex_);
  Buffer out;
  json::Writer writer(out);
  writer.begin_object().key("operations").begin_array();
  for (const auto& [key, operation] : operations_) {
    writer.begin_object().key("path").string(key.first).key("method").string(key.second);
    writer.key("handler").string(operation.handler).key("asks").begin_array();
    for (const auto& [asked, schema] : operation.asked) {
      writer.begin_object().key("part").string(asked.first).key("name").string(asked.second);
      writer.key("schema").raw(schema).end_object();
    }
    writer.end_array().key("types").begin_array();
    for (const std::string& type : operation.request_types) writer.string(type);
    writer.end_array().key("responses").begin_array();
    for (const auto& [status, response] : operation.responses) {
      writer.begin_object().key("status").integer(status).key("content").begin_object();
      for (const auto& [type, schema] : response.schemas) writer.key(type).raw(schema.empty() ? "null" : schema);
      writer.end_object().key("fields").begin_array();
      for (const std::string& field : response.fields) writer.string(field);
      writer.end_array().end_object();
    }
    writer.end_array().end_object();
  }
  writer.end_array().key("components").begin_object();
  for (const auto& [name, schema] : schemas_.components()) writer.key(name).raw(schema);
  writer.end_object().end_object();
  return std::string(out.view());
}

Result<> ContractRecorder::save(const std::string& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = folder + "/" + std::to_string(getpid()) + ".json";
  std::ofstream file(path, std::ios::binary);
  file << text() << '\n';
  file.close();
  if (!file) return Error::text(Code::Internal, path + ": cannot be written");
  return {};
}

void ContractRecorder::begin() {
  if (of_process != nullptr || std::getenv(variable) == nullptr) return;
  // The recorder is never deleted, because responses have views of the recorder's texts until the process ends.
  of_process = new ContractRecorder;
  active = of_process;
}

void ContractRecorder::end() {
  const char* const folder = std::getenv(variable);
  if (of_process == nullptr || folder == nullptr) return;
  if (const auto saved = of_process->save(folder); !saved)
    std::fprintf(stderr, "%s: %s\n", variable, saved.error().describe().c_str());
}

}  // namespace keel::http
