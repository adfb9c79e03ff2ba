#include "data.h"

using namespace keel;

// Stored exactly as received: the contract has only checked that the body is a JSON object.
Task<api::CreateDataResponse> Data::create_data(http::Request& http, const api::CreateDataRequest&) {
  const db::Written written = co_await session_.execute("insert into data (body) values ($1)", http.body());
  co_return api::Created{.id = written.last_insert_id};
}
