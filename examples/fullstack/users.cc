#include "users.h"

#include "keel/task/on_error.h"

using namespace keel;

namespace {

constexpr std::string_view no_such_user = "no user has this id";

// The email address is the only member of a user that has to be unique.
std::unexpected<Error> taken() { return fail(Code::Conflict, "email: another user has this address"); }

}  // namespace

Task<api::ListUsersResponse> Users::list_users(http::Request&, const api::ListUsersRequest& request) {
  api::UserPage page;
  // Reads one more user than fits on a page, to know whether there is a next page.
  page.items = co_await session_.query_many<api::User>(
      "select * from users where id > $after order by id limit $limit + 1", request);
  if (std::ssize(page.items) > request.limit) {
    page.items.pop_back();
    page.next = page.items.back().id;
  }
  co_return page;
}

Task<api::CreateUserResponse> Users::create_user(http::Request&, const api::CreateUserRequest& request) {
  const auto user = co_await on_error(
      Code::AlreadyExists, taken(),
      session_.query_one<api::User>("insert into users (name, email, age) values ($name, $email, $age) returning *",
                                    request.body));
  co_return api::CreateUserResponse::created(user, {.location = "/api/users/" + std::to_string(user.id)});
}

Task<api::GetUserResponse> Users::get_user(http::Request&, const api::GetUserRequest& request) {
  const auto user = co_await session_.query_optional<api::User>("select * from users where id = $id", request);
  if (!user) co_return api::GetUserResponse::not_found(no_such_user);
  co_return *user;
}

Task<api::ReplaceUserResponse> Users::replace_user(http::Request&, const api::ReplaceUserRequest& request) {
  const api::NewUser& body = request.body;
  const auto user = co_await on_error(
      Code::AlreadyExists, taken(),
      session_.query_optional<api::User>("update users set name = $2, email = $3, age = $4 where id = $1 returning *",
                                         request.id, body.name, body.email, body.age));
  if (!user) co_return api::ReplaceUserResponse::not_found(no_such_user);
  co_return *user;
}

Task<api::DeleteUserResponse> Users::delete_user(http::Request&, const api::DeleteUserRequest& request) {
  const auto written = co_await session_.execute("delete from users where id = $id", request);
  if (written.changes == 0) co_return api::DeleteUserResponse::not_found(no_such_user);
  co_return api::DeleteUserResponse::no_content();
}
