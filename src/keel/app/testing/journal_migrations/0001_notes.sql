create table notes (
  id   integer primary key,
  text text not null
) strict;
