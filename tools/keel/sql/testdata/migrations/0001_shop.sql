create table users (
  id integer primary key,
  name text not null,
  email text unique,
  note text,
  score real not null default 0,
  is_admin integer not null default 0,
  avatar blob,
  created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))
) strict;
create table orders (
  id integer primary key,
  user_id integer not null references users,
  state text not null default 'Open',
  cents integer not null,
  placed_by integer references users
) strict;
create view spent as
  select u.id as user_id, u.name, sum(o.cents) as cents, count(o.id) as orders
  from users u left join orders o on o.user_id = u.id group by u.id;
create table lines (order_id integer not null, sku text not null, quantity integer not null, primary key (order_id, sku))
  strict, without rowid;
