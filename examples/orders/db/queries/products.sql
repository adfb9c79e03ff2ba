-- include: "api/api.h"

-- name: list_products :many api::Product
select * from products order by sku limit 1000;

-- name: find_product :one api::Product
select * from products where sku = $sku;

-- Adds it, or replaces the one with this SKU.
-- name: put_product :one api::Product
-- params: api::NewProduct
insert into products (sku, name, price_cents, stock) values ($sku, $name, $price_cents, $stock)
on conflict (sku) do update set name = excluded.name, price_cents = excluded.price_cents, stock = excluded.stock
returning *;
