create table payments (
  id       integer primary key,
  customer text not null,
  amount   text not null
) strict;
