create table orders (
  id    integer primary key,
  item  text not null,
  cents integer not null,
  state text not null default 'open'  -- then 'paid' or 'declined'
) strict;
create index open_orders on orders (id) where state = 'open';
