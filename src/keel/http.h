// keel/http.h — everything that a service needs to respond to requests, in one header.
//
//   #include "keel/http.h"
//
//   http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); }
//
//   http::Router router;
//   router.use(http::SecurityHeaders()).get("/hello", hello);
//   http::Server server(router, {.address = *Address::parse("127.0.0.1:8080")});   // or app.serve(router), app/app.h
//
// Every block of docs/http.md compiles with this header alone. Programs that use the following headers include them
// separately: keel/http/client/client.h, compression.h, rate_limit.h, test_server.h.

#pragma once

#include "keel/data/json_write.h"                   // structs as JSON
#include "keel/data/uri.h"                          // queries and forms, decoded
#include "keel/http/message/precondition.h"         // conditional requests: 304 and 412
#include "keel/http/message/range.h"                // parts of a response: 206
#include "keel/http/middleware/authentication.h"    // authentication of clients
#include "keel/http/middleware/cors.h"              // permission for pages of other origins (CORS)
#include "keel/http/middleware/https_redirect.h"    // redirects to HTTPS
#include "keel/http/middleware/security_headers.h"  // what browsers must enforce: security fields of a response
#include "keel/http/server/cookie.h"                // cookies of a request, and of a response
#include "keel/http/server/input.h"                 // the input of a request as structs
#include "keel/http/server/middleware.h"            // code that runs around the handlers of many routes
#include "keel/http/server/multipart.h"             // forms
#include "keel/http/server/problem.h"               // errors as responses
#include "keel/http/server/request.h"               // the request; body_reader.h reads its body piece by piece
// the response; body_writer.h writes its body piece by piece; upgrade.h changes to another protocol
#include "keel/http/server/response.h"
#include "keel/http/server/router.h"        // the routes
#include "keel/http/server/server.h"        // the server: its address, and its limits
#include "keel/http/server/static_files.h"  // a folder of files
#include "keel/io/runtime.h"                // the workers of a Server that runs without an App
#include "keel/net/stream.h"                // a connection that no longer speaks HTTP
#include "keel/task/timing.h"               // sleep_for, with_timeout
