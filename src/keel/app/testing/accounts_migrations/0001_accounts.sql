create table accounts (
  id    integer primary key,
  owner text not null unique,
  cents integer not null check (cents >= 0)
) strict;
