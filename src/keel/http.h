// keel/http.h — what a service needs to answer requests, in one header: a table of contents.
//
//   #include "keel/http.h"
//
//   http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); }
//
//   http::Router router;
//   router.use(http::SecurityHeaders()).get("/hello", hello);
//   http::Server server(router, {.address = *Address::parse("127.0.0.1:8080")});   // or app.serve(router), app/app.h
//
// Every block of docs/http.md compiles with it alone. Beside it, for those who use them: keel/http/client/client.h,
// compression.h, rate_limit.h, test_server.h.

#pragma once

#include "keel/data/json_write.h"                   // structs as JSON
#include "keel/data/uri.h"                          // queries and forms, decoded
#include "keel/http/message/precondition.h"         // conditional requests: 304 and 412
#include "keel/http/message/range.h"                // parts of a response: 206
#include "keel/http/middleware/authentication.h"    // who is asking
#include "keel/http/middleware/cors.h"              // who may ask from other sites
#include "keel/http/middleware/https_redirect.h"    // where it is
#include "keel/http/middleware/security_headers.h"  // what browsers are told not to do
#include "keel/http/server/cookie.h"                // cookies of a request, and of a response
#include "keel/http/server/input.h"                 // what was sent, as structs
#include "keel/http/server/middleware.h"            // what stands around the handlers of many routes
#include "keel/http/server/multipart.h"             // forms
#include "keel/http/server/problem.h"               // errors as answers
#include "keel/http/server/request.h"               // what was asked; body_reader.h: its body, piece by piece
#include "keel/http/server/response.h"  // what is answered; body_writer.h: piece by piece; upgrade.h: another protocol
#include "keel/http/server/router.h"    // which handler answers what
#include "keel/http/server/server.h"    // where it listens, and its limits
#include "keel/http/server/static_files.h"  // a folder of files
#include "keel/io/runtime.h"                // the workers that a Server listens on where there is no App
#include "keel/net/stream.h"                // what a connection is that has left HTTP
#include "keel/task/timing.h"               // sleep_for, with_timeout
