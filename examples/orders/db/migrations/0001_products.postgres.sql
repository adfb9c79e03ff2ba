create table products (
  sku         text primary key,
  name        text not null,
  price_cents bigint not null check (price_cents > 0),
  stock       bigint not null check (stock >= 0)
);
