create table accounts (
  id integer primary key,
  owner text not null unique,
  cents integer not null,
  note text,
  state text not null default 'Open',
  opened_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))
) strict;
