create table stock (
  item  text primary key,
  count integer not null check (count >= 0)
) strict;
