create table orders (
  id         bigint generated always as identity primary key,
  customer   text not null,
  state      text not null default 'open'
             check (state in ('open', 'paying', 'paid', 'declined', 'cancelled', 'expired')),
  created_at timestamptz not null
);
create index orders_by_state on orders (state, created_at);

create table lines (
  id          bigint generated always as identity primary key,
  order_id    bigint not null references orders (id),
  sku         text not null references products (sku),
  quantity    integer not null check (quantity > 0),
  price_cents bigint not null  -- of one, when the order was placed
);
create index lines_by_order on lines (order_id);

create view orders_with_total as
select *, (select cast(sum(quantity * price_cents) as bigint) from lines where order_id = orders.id) as total_cents
from orders;
