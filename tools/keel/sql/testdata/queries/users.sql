-- What is declared as text or a number, and is something else.
-- type: users.created_at timestamp
-- type: users.is_admin bool

-- The user with this address.
-- name: find_user :optional User
select id, name, email, score, is_admin, created_at from users where email = $email;

-- Which of several orders and filters is chosen when it is called.
-- name: list_users :many User
-- params: ListUsersParams
-- param: limit int32
-- sort: name, users.score
select id, name, email, score, is_admin, created_at from users where true
  /*? name */ and name like $name
  /*? admins */ and is_admin
  /*? since */ and (created_at >= $since
    or score > 100) /*?*/
order by $sort, id limit $limit;

-- name: add_user :one
insert into users (name, email, created_at) values ($1, $2, $3) returning id;

-- name: change_user :exec
update users set name = coalesce($name, name), note = $note, score = $score, avatar = $avatar, is_admin = $is_admin
where id = $id;

-- name: add_users :batch
-- params: NewUser
insert into users (name, email) values ($name, $email);

-- name: remove_user :exec
delete from users where id = $1;

-- name: count_users :one
select count(*) from users;

-- name: note_of :one
select note from users where id = $1;

-- name: export_users :stream User
select id, name, email, score, is_admin, created_at from users where id > $after order by id;

-- name: avatar_of :one
select avatar as "avatar!" from users where id = $id and avatar is not null;
