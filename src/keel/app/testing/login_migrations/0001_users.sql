create table users (
  id       integer primary key,
  name     text not null unique,
  salt     text not null,
  password text not null
) strict;

create table sessions (
  token_digest text primary key,
  user         integer not null references users (id) on delete cascade,
  expires_at   text not null
) strict;
