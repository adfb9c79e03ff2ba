// keel/http/client/client_calls.h — get(), post() and the other short calls of a Client and a SharedClient.
//
// Each function calls send() with a request of this method, URL and body: errors, time limits and lifetimes are those
// of send(). The arguments that are views, and `value`, must live until the call has ended; a struct that is sent must
// be a named variable (checked by the compiler).

#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "keel/http/client/client_request.h"
#include "keel/http/message/method.h"
#include "keel/task/task.h"

namespace keel::http {

// A type whose values are sent as JSON: any type except text.
template <class T>
concept IsNoText = !std::convertible_to<const std::remove_reference_t<T>&, std::string_view>;

// `Caller` derives from this class and declares `Task<Response> send(ClientRequest)`.
template <class Caller, class Response>
class ClientCalls {
 public:
  Task<Response> get(std::string_view url) { return caller().send(ClientRequest(Method::Get, url)); }
  Task<Response> head(std::string_view url) { return caller().send(ClientRequest(Method::Head, url)); }
  Task<Response> del(std::string_view url) { return caller().send(ClientRequest(Method::Delete, url)); }
  Task<Response> post(std::string_view url, std::string_view body, std::string_view content_type) {
    return caller().send(ClientRequest(Method::Post, url).body(body, content_type));
  }
  Task<Response> put(std::string_view url, std::string_view body, std::string_view content_type) {
    return caller().send(ClientRequest(Method::Put, url).body(body, content_type));
  }
  Task<Response> patch(std::string_view url, std::string_view body, std::string_view content_type) {
    return caller().send(ClientRequest(Method::Patch, url).body(body, content_type));
  }
  // Sends `value` as JSON: a plain struct, a list, a map (ClientRequest::json).
  template <IsNoText T>
  Task<Response> post(std::string_view url, T&& value) {
    internal::refuse_made_in_call<T>();
    return caller().send(ClientRequest(Method::Post, url).json(value));
  }
  template <IsNoText T>
  Task<Response> put(std::string_view url, T&& value) {
    internal::refuse_made_in_call<T>();
    return caller().send(ClientRequest(Method::Put, url).json(value));
  }
  template <IsNoText T>
  Task<Response> patch(std::string_view url, T&& value) {
    internal::refuse_made_in_call<T>();
    return caller().send(ClientRequest(Method::Patch, url).json(value));
  }

 protected:
  ClientCalls() = default;
  ~ClientCalls() = default;

 private:
  Caller& caller() noexcept { return static_cast<Caller&>(*this); }
};

}  // namespace keel::http
