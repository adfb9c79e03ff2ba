create table products (
  sku         text primary key,
  name        text not null,
  price_cents integer not null check (price_cents > 0),
  stock       integer not null check (stock >= 0)
) strict, without rowid;
