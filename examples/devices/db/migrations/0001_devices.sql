create table devices (
  name text primary key,
  celsius real not null,
  readings integer not null default 1
) strict;
