create table data (
  id         integer primary key,
  body       text not null,
  created_at text not null default (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) strict;
