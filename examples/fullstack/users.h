// Implements the operations of api.yaml with the tag `users`, and stores their data in a database.

#pragma once

#include "api/users.h"
#include "keel/db/session.h"

class Users final : public api::UsersHandler {
 public:
  // The session must outlive this object.
  explicit Users(keel::db::Session& session) : session_(session) {}

  keel::Task<api::ListUsersResponse> list_users(keel::http::Request& http,
                                                const api::ListUsersRequest& request) override;
  keel::Task<api::CreateUserResponse> create_user(keel::http::Request& http,
                                                  const api::CreateUserRequest& request) override;
  keel::Task<api::GetUserResponse> get_user(keel::http::Request& http, const api::GetUserRequest& request) override;
  keel::Task<api::ReplaceUserResponse> replace_user(keel::http::Request& http,
                                                    const api::ReplaceUserRequest& request) override;
  keel::Task<api::DeleteUserResponse> delete_user(keel::http::Request& http,
                                                  const api::DeleteUserRequest& request) override;

 private:
  keel::db::Session& session_;
};
