// Implements the operations of api.yaml with the tag `data`, and stores their data in a database.

#pragma once

#include "api/data.h"
#include "keel/db/session.h"

class Data final : public api::DataHandler {
 public:
  // The session must outlive this object.
  explicit Data(keel::db::Session& session) : session_(session) {}

  keel::Task<api::CreateDataResponse> create_data(keel::http::Request& http,
                                                  const api::CreateDataRequest& request) override;

 private:
  keel::db::Session& session_;
};
