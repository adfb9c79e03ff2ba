-- include: "order_state.h"
-- type: orders.state shop::OrderState

-- name: place :one Order
insert into orders (user_id, state, cents) values ($user_id, $state, $cents) returning id, user_id, state, cents;

-- name: orders_of :many Order
select id, user_id, state, cents from orders where user_id = $1 and state in ($2, $3) order by id;

-- name: orders_of_anyone :many shop::Row
-- params: shop::Wanted
select o.id, u.name as "user", o.cents, u.note from orders o join users u on u.id = o.user_id
where o.cents >= $least /*? state */ and o.state = $state
order by o.id;

-- name: spending :many
select user_id, name, coalesce(cents, 0) as "cents!", orders from spent where orders >= $1 order by user_id;
