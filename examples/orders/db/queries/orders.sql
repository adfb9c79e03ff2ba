-- include: "api/api.h"
-- type: orders.created_at timestamp
-- type: orders.state api::State
-- type: orders_with_total.created_at timestamp
-- type: orders_with_total.state api::State
-- type: lines.quantity int32

-- name: add_order :one
insert into orders (customer, created_at) values ($customer, $created_at) returning id;

-- Changes nothing when there is less.
-- name: take_stock :exec
-- params: api::NewLine
-- param: quantity int32
update products set stock = stock - $quantity where sku = $sku and stock >= $quantity;

-- name: add_line :exec
-- param: quantity int32
insert into lines (order_id, sku, quantity, price_cents)
select cast($order_id as bigint), sku, cast($quantity as integer), price_cents from products where sku = $sku;

-- name: find_order :one api::Order
select id, customer, state, created_at, total_cents as "total_cents!" from orders_with_total where id = $id;

-- name: list_orders :many api::Order
-- params: api::ListOrdersRequest
select id, customer, state, created_at, total_cents as "total_cents!" from orders_with_total where id > $after
  /*? customer */ and customer = $customer
  /*? state */ and state = $state
order by id limit $limit;

-- name: list_lines :many api::Line
select sku, quantity, price_cents from lines where order_id = $order_id order by id;

-- From here on the order is neither cancelled nor expires.
-- name: begin_payment :exec
update orders set state = 'paying' where id = $id and state = 'open';

-- name: find_charge :optional Due
select id as order_id, total_cents as "cents!" from orders_with_total where id = $id and state = 'paying';

-- In any order, so that one whose payment fails does not keep the others from theirs.
-- name: list_paying :many
select id from orders where state = 'paying' order by random() limit 200;

-- name: list_expired :many
select id from orders where state = 'open' and created_at < $before limit 200;

-- name: change_state :exec
update orders set state = $to where id = $id and state = $from;

-- name: list_taken :many api::NewLine
select sku, quantity from lines where order_id = $order_id;

-- name: return_stock :exec
-- params: api::NewLine
update products set stock = stock + $quantity where sku = $sku;
