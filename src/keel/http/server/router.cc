#include "keel/http/server/router.h"

#include <algorithm>
#include <string>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/http/message/negotiate.h"
#include "keel/http/server/problem.h"

namespace keel::http {
namespace {

constexpr std::size_t host_bytes_max = 255;

const RouteOptions no_options;

std::string lower(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), ascii::to_lower);
  return made;
}

std::string joined(const std::vector<std::string>& list) {
  std::string all;
  for (const std::string& one : list) all += (all.empty() ? "" : ", ") + one;
  return all;
}

std::string text_of(const std::source_location& at) {
  return std::string(at.file_name()) + ":" + std::to_string(at.line());
}

[[noreturn]] void refuse_route(const std::source_location& at, std::string_view what, const std::string& why) {
  check_failed(at.file_name(), static_cast<int>(at.line()), std::string(what).c_str(), why.c_str());
}

// The options of the route; an option that the route does not set comes from its group.
RouteOptions merged(const RouteOptions& route, const RouteOptions& group) {
  RouteOptions made = route;
  if (!made.body_bytes_max) made.body_bytes_max = group.body_bytes_max;
  if (!made.request_timeout) made.request_timeout = group.request_timeout;
  made.streams_body = route.streams_body || group.streams_body;
  made.partial_put = route.partial_put || group.partial_put;
  if (made.consumes.empty()) made.consumes = group.consumes;
  if (made.produces.empty()) made.produces = group.produces;
  return made;
}

}  // namespace

struct Router::Route {
  Method method;
  const Path* path;
  RouteOptions options;
  std::source_location at;
  bool negotiates;  // Whether negotiate() must be called before the handler.
  // The middleware that was in use when the route was added, outermost first.
  Links links;
  Links own;  // The synchronous part of `links`; it also runs for the router's own responses.
  // The number of synchronous links before the first link that awaits.
  std::uint32_t leading = 0;
  Handler inner;
  Handler handler;  // Calls `inner` inside the remaining `links`.
};

struct Router::Path {
  std::string pattern;  // Including the host.
  std::source_location at;
  const Route* first = nullptr;
  Route* by_method[method_count] = {};
  std::uint32_t index_by_method[method_count] = {};
  std::string allow;  // "GET, HEAD, OPTIONS"
};

struct Router::Host {
  std::string name;
  PathTree tree;
};

Router::Router()
    : not_found_(own_response(&Router::not_found)),
      options_(own_response(&Router::options)),
      not_allowed_(own_response(&Router::not_allowed)),
      not_acceptable_(own_response(&Router::not_acceptable)),
      unsupported_type_(own_response(&Router::unsupported_type)),
      unsupported_coding_(own_response(&Router::unsupported_coding)),
      partial_put_(own_response(&Router::partial_put)),
      misdirected_(own_response(&Router::misdirected)),
      not_implemented_(own_response(&Router::not_implemented)) {}

Router::~Router() {
  for (Route* route : routes_) delete route;
  for (Path* path : paths_) delete path;
  for (Host* host : hosts_) delete host;
  for (const Middleware* link : kept_) delete link;
}

// --- adding --------------------------------------------------------------------------------------------------------

void Router::use_link(const Middleware* link) {
  links_.push_back(keep(link));
  if (link->acts_at_once()) own_.push_back(link);
}

const Middleware* Router::keep(const Middleware* link) {
  kept_.push_back(link);
  return link;
}

Group Router::group(std::string_view prefix, const RouteOptions& options) {
  return Group(*this, {}, std::string(prefix), links_, options);
}

Group Router::host(std::string_view name, const RouteOptions& options) {
  return Group(*this, lower(name), {}, links_, options);
}

PathTree& Router::tree_of(std::string_view host, const std::source_location& at) {
  if (host.empty()) return tree_;
  const bool is_wildcard = host.starts_with("*.");
  const std::string_view name = is_wildcard ? host.substr(2) : host;
  LiteralTable& hosts = is_wildcard ? wide_hosts_ : exact_hosts_;
  if (const std::uint32_t known = hosts.find(name); known != LiteralTable::none) return hosts_[known]->tree;
  if (name.empty() || name.size() > host_bytes_max || name.find_first_of("*/: ") != std::string_view::npos) {
    refuse_route(at, host, "a host must be a name without a port, or \"*.\" and a name, of at most 255 bytes");
  }
  hosts.add(name, static_cast<std::uint32_t>(hosts_.size()));
  hosts_.push_back(new Host{std::string(host), {}});
  return hosts_.back()->tree;
}

Router::Path& Router::path_of(std::string_view host, std::string_view pattern, const std::source_location& at) {
  std::string whole(host);
  whole += pattern;
  if (const std::uint32_t known = patterns_.find(whole); known != LiteralTable::none) return *paths_[known];
  const auto id = static_cast<std::uint32_t>(paths_.size());
  std::uint32_t other = LiteralTable::none;
  if (const auto added = tree_of(host, at).add(pattern, id, &other); !added) {
    std::string why(added.error().describe());
    if (other != LiteralTable::none) why += "; the other pattern was added at " + text_of(paths_[other]->at);
    refuse_route(at, whole, why);
  }
  patterns_.add(whole, id);
  auto* path = new Path{};
  path->pattern = std::move(whole);
  path->at = at;
  paths_.push_back(path);
  return *path;
}

void Router::add_below(std::string_view host, std::string_view pattern, const Links& links, Method method,
                       Handler handler, const RouteOptions& options, const std::source_location& at) {
  // If a handler adds a route while the server runs, this bug makes only that handler's request fail.
  if (is_sealed_) {
    throw_bug(
        std::string(pattern) +
            ": a route cannot be added after a server was started with this router: add all routes before the start",
        at);
  }
  if (method == Method::Other || method == Method::Connect) {
    refuse_route(at, pattern, "a route must have a method other than Other and CONNECT");
  }
  if (options.streams_body && !handler.later) {
    refuse_route(at, pattern, "a handler that streams its body must return a Task");
  }
  for (const std::vector<std::string>* types : {&options.consumes, &options.produces}) {
    for (const std::string& type : *types) {
      const bool is_wide = type.find('*') != std::string::npos;
      if (!is_media_range(type) || (is_wide && types == &options.produces)) {
        refuse_route(
            at, pattern,
            "\"" + type + "\": a route must consume \"type/subtype\" or \"type/*\", and produce \"type/subtype\"");
      }
    }
  }
  Path& path = path_of(host, pattern, at);
  Route*& slot = path.by_method[static_cast<int>(method)];
  if (slot != nullptr) {
    refuse_route(at, path.pattern,
                 "a path can have only one handler for each method; its " + std::string(to_string(method)) +
                     " was added at " + text_of(slot->at));
  }
  const bool is_whole_put = method == Method::Put && !options.partial_put;
  const bool negotiates = !options.consumes.empty() || !options.produces.empty() || is_whole_put;
  auto* route = new Route{method, &path, options, at, negotiates, links, {}, 0, {}, {}};
  for (const Middleware* link : links) {
    if (!link->acts_at_once()) continue;
    if (route->leading == route->own.size() && links[route->leading] == link) ++route->leading;
    route->own.push_back(link);
  }
  if (route->leading == links.size()) {
    route->handler = std::move(handler);
  } else {
    route->inner = std::move(handler);
    route->handler.later = [route](Request& request) -> Task<Response> {
      const Middleware* const* begin = route->links.data();
      return Next(begin + route->leading, begin + route->links.size(), route->inner)(request);
    };
  }
  if (path.first == nullptr) path.first = route;
  slot = route;
  path.index_by_method[static_cast<int>(method)] = static_cast<std::uint32_t>(routes_.size());
  routes_.push_back(route);

  const auto listed = [](std::string& list, std::string_view name) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  };
  const auto has = [](const Path& of, Method wanted) { return of.by_method[static_cast<int>(wanted)] != nullptr; };
  path.allow.clear();
  for (int i = 0; i < method_count; ++i) {
    const auto one = static_cast<Method>(i);
    const bool derived = one == Method::Options || (one == Method::Head && has(path, Method::Get));
    if (has(path, one) || derived) listed(path.allow, to_string(one));
  }
  methods_ |= 1u << static_cast<int>(method);
  allow_.clear();
  for (int i = 0; i < method_count; ++i) {
    const auto one = static_cast<Method>(i);
    const bool derived =
        one == Method::Options || (one == Method::Head && (methods_ >> static_cast<int>(Method::Get) & 1) != 0);
    if ((methods_ >> i & 1) != 0 || derived) listed(allow_, to_string(one));
  }
}

Group::Group(Router& router, std::string host, std::string prefix, Router::Links links, RouteOptions options)
    : router_(&router),
      host_(std::move(host)),
      prefix_(std::move(prefix)),
      links_(std::move(links)),
      options_(std::move(options)) {
  KEEL_CHECK(prefix_.empty() || (prefix_.starts_with('/') && !prefix_.ends_with('/')),
             "a group's prefix must begin with '/' and must not end with it: \"/api\"");
}

Group Group::group(std::string_view prefix, const RouteOptions& options) const {
  Group made(*router_, host_, std::string(prefix), links_, merged(options, options_));
  made.prefix_.insert(0, prefix_);
  return made;
}

void Group::add_route(Method method, std::string_view pattern, Handler handler, const RouteOptions& options,
                      const std::source_location& at) {
  if (!pattern.empty() && !pattern.starts_with('/')) {
    refuse_route(at, pattern,
                 "a pattern within a group must begin with '/', or be empty for the group's prefix itself");
  }
  router_->add_below(host_, prefix_ + std::string(pattern), links_, method, std::move(handler),
                     merged(options, options_), at);
}

// --- matching ------------------------------------------------------------------------------------------------------

void Router::set_route(RouteMatch& match, const Route& route, std::uint32_t index) noexcept {
  match.handler = &route.handler;
  match.options = &route.options;
  match.index = index;
  match.is_route = true;
  match.is_around = route.leading != route.links.size();
  match.links = route.own.data();
  match.link_count = route.leading;
}

void Router::set_own(RouteMatch& match, const Handler& handler, const Links& links) const noexcept {
  match.handler = &handler;
  match.options = &no_options;
  match.index = static_cast<std::uint32_t>(routes_.size());
  match.links = links.data();
  match.link_count = static_cast<std::uint32_t>(links.size());
}

const RouteMatch& Router::match(Request& request) const {
  const RequestHead& head = *request.head_;
  RouteMatch& match = request.match_;
  if (head.form() != TargetForm::Origin && request.is_of_another_scheme()) [[unlikely]] {
    set_own(match, misdirected_, own_);
    return match;
  }
  const bool has_path =
      head.method() != Method::Other && head.form() != TargetForm::Asterisk && head.form() != TargetForm::Authority;
  std::optional<std::uint32_t> id;
  if (has_path && hosts_.empty()) [[likely]] {
    id = tree_.match(head.path(), match.params);
  } else if (has_path) {
    id = match_host(head, match.params);
    if (!id) id = tree_.match(head.path(), match.params);
  }
  if (!id) [[unlikely]] {
    match_nothing(request, has_path);
    return match;
  }
  const Path& path = *paths_[*id];
  match.pattern = path.pattern;
  if (const Route* route = path.by_method[static_cast<int>(head.method())]; route != nullptr && !route->negotiates)
      [[likely]] {
    set_route(match, *route, path.index_by_method[static_cast<int>(head.method())]);
  } else {
    match_method(request, path);
  }
  return match;
}

void Router::match_nothing(Request& request, bool has_path) const {
  RouteMatch& match = request.match_;
  if (has_path) return set_own(match, not_found_, own_);
  if (request.head_->form() != TargetForm::Asterisk || request.method() == Method::Other)
    return set_own(match, not_implemented_, own_);
  match.allow = allow_;
  set_own(match, options_, own_);
}

// Handles requests for which a lookup is not enough, because of a derived method, negotiation or a 405.
void Router::match_method(Request& request, const Path& path) const {
  const RequestHead& head = *request.head_;
  RouteMatch& match = request.match_;
  const auto slot_of = [&path](Method method) {
    const bool derived = method == Method::Head && path.by_method[static_cast<int>(Method::Head)] == nullptr;
    return static_cast<int>(derived ? Method::Get : method);
  };
  const int slot = slot_of(head.method());
  if (const Route* route = path.by_method[slot]; route != nullptr) [[likely]] {
    const Handler* const rejection = route->negotiates ? negotiate(request, *route) : nullptr;
    if (rejection == nullptr) return set_route(match, *route, path.index_by_method[slot]);
    set_own(match, *rejection, route->own);
    match.index = path.index_by_method[slot];
    return;
  }
  const Route* asked = nullptr;
  if (head.method() == Method::Options) {
    // For a CORS preflight, `asked` is the route of the method that the preflight names.
    if (const auto method = head.find("Access-Control-Request-Method")) {
      asked = path.by_method[slot_of(parse_method(*method))];
    }
  }
  set_own(match, head.method() == Method::Options ? options_ : not_allowed_,
          (asked != nullptr ? asked : path.first)->own);
  match.allow = path.allow;
  if (const Route* const patch = path.by_method[static_cast<int>(Method::Patch)]) match.told = &patch->options;
}

std::optional<std::uint32_t> Router::match_host(const RequestHead& head, PathParams& params) const noexcept {
  const std::string_view sent = head.host();
  if (sent.size() > host_bytes_max) return std::nullopt;
  char room[host_bytes_max];
  std::ranges::transform(sent, room, ascii::to_lower);
  std::string_view name(room, sent.size());
  for (const LiteralTable* hosts = &exact_hosts_;; hosts = &wide_hosts_) {
    if (const std::uint32_t host = hosts->find(name); host != LiteralTable::none) {
      if (const auto id = hosts_[host]->tree.match(head.path(), params)) return id;
    }
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    name.remove_prefix(dot + 1);
  }
}

// Returns the router's own handler that must respond in place of the route's handler, or null. RFC 9110 §14.5, §15.5.7,
// §15.5.16.
const Handler* Router::negotiate(Request& request, const Route& route) const {
  const RouteOptions& options = route.options;
  const RequestHead& head = *request.head_;
  if (route.method == Method::Put && !options.partial_put && head.find("content-range")) return &partial_put_;
  if (!options.consumes.empty() && head.body() != BodyKind::None) {
    const std::string_view type = head.find(Known::ContentType).value_or(std::string_view());
    bool taken = false;
    for (const std::string& range : options.consumes) taken = taken || is_of_media_range(type, range);
    if (!taken) {
      request.match_.told = &options;
      return &unsupported_type_;
    }
    // A compressed body has one of the accepted types only after it is decoded, which the router does not do.
    std::string_view codings = request.header_list("Content-Encoding").value_or(std::string_view());
    for (std::string_view coding; next_element(codings, coding);) {
      if (!coding.empty() && !equals_ignore_case(coding, "identity")) return &unsupported_coding_;
    }
  }
  if (!options.produces.empty()) {
    std::size_t chosen = 0;
    if (head.has(Known::Accept)) {
      const auto best = choose_media_type(*request.header_list("Accept"), options.produces);
      if (!best) {
        request.match_.told = &options;
        return &not_acceptable_;
      }
      chosen = *best;
    }
    request.match_.accepted_type = options.produces[chosen];
  }
  return nullptr;
}

// --- the router's own responses --------------------------------------------------------------------------------------

Handler Router::own_response(Result<Response> (Router::*respond)(Request&) const) {
  Handler made;
  made.at_once = [this, respond](Request& request) { return (this->*respond)(request); };
  return made;
}

Result<Response> Router::not_found(Request&) const { return refuse(Status::NotFound, "there is nothing at this path"); }

Result<Response> Router::not_implemented(Request&) const {
  return refuse(Status::NotImplemented, "this method is not implemented");
}

Result<Response> Router::options(Request& request) const {
  Response response(Status::NoContent);
  response.header("Allow", request.match_.allow);
  if (request.match_.told != nullptr && !request.match_.told->consumes.empty()) {
    response.header("Accept-Patch", joined(request.match_.told->consumes));  // RFC 5789 §3.1
  }
  return response;
}

Result<Response> Router::not_allowed(Request& request) const {
  return refuse(Status::MethodNotAllowed, "this path does not support this method")
      .header("Allow", request.match_.allow);
}

Result<Response> Router::not_acceptable(Request& request) const {
  return refuse(Status::NotAcceptable, "this path produces " + joined(request.match_.told->produces))
      .header("Vary", "Accept");
}

Result<Response> Router::unsupported_type(Request& request) const {
  const std::string types = joined(request.match_.told->consumes);
  // RFC 5789 §2.2 defines a separate field for PATCH.
  return refuse(Status::UnsupportedMediaType, "this path accepts " + types)
      .header(request.method() == Method::Patch ? "Accept-Patch" : "Accept", types);
}

Result<Response> Router::unsupported_coding(Request&) const {
  return refuse(Status::UnsupportedMediaType, "this path accepts only bodies without a content coding")
      .header("Accept-Encoding", "identity");
}

Result<Response> Router::partial_put(Request&) const {
  return refuse(Status::BadRequest, "PUT replaces the whole resource: Content-Range is not supported");
}

Result<Response> Router::misdirected(Request&) const {
  return refuse(Status::MisdirectedRequest,
                "the target has the scheme https, but did not arrive over a secure connection");
}

Method Router::method(const RouteMatch& match) const noexcept { return routes_[match.index]->method; }

std::vector<Router::RouteName> Router::routes() const {
  std::vector<RouteName> names;
  for (const Route* route : routes_) names.push_back({route->method, route->path->pattern});
  return names;
}

}  // namespace keel::http
