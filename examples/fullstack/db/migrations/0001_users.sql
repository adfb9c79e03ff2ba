create table users (
  id         integer primary key,
  name       text not null,
  email      text not null unique,
  age        integer,
  created_at text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) strict;
