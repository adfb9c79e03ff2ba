create table products (
  id integer primary key autoincrement,
  sku text not null unique,
  name text not null,
  price_cents integer not null,
  category text not null,
  stock integer not null,
  note text,
  created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))
) strict;
create index products_by_category on products (category, id);
