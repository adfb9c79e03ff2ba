-- include: "account_state.h"
-- type: accounts.opened_at timestamp
-- type: accounts.state shop::AccountState

-- The account with this number.
-- name: find_account :one Account
select id, owner, cents, note from accounts where id = $id;

-- name: open_account :one Account
insert into accounts (owner, cents) values ($owner, $cents) returning id, owner, cents, note;

-- name: close_account :exec
update accounts set state = $state, note = $note where id = $id;

-- name: list_accounts :many Account
-- sort: owner, cents
select id, owner, cents, note from accounts where true
  /*? owner */ and owner like $owner
  /*? least */ and cents >= $least
  /*? noted */ and note is not null
order by $sort, id limit $limit;

-- name: summary :one
select count(*) as accounts, coalesce(sum(cents), 0) as cents, max(opened_at) as "latest: timestamp" from accounts;

-- name: import_accounts :batch
insert into accounts (owner, cents) values ($owner, $cents);

-- name: export_accounts :stream Account
select id, owner, cents, note from accounts order by id;
