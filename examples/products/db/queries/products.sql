-- include: "api/api.h"
-- type: products.category api::Category
-- type: products.created_at timestamp

-- name: list_products :many api::Product
-- params: api::ListProductsRequest
select * from products where id > $after
  /*? category */ and category = $category
  /*? search */ and instr(lower(name), lower($search)) > 0
  /*? max_price_cents */ and price_cents <= $max_price_cents
order by id limit $limit + 1;

-- name: create_product :one api::Product
-- params: api::NewProduct
insert into products (sku, name, price_cents, category, stock, note)
values ($sku, $name, $price_cents, $category, $stock, $note) returning *;

-- name: find_product :optional api::Product
select * from products where id = $id;

-- name: replace_product :optional api::Product
update products
set sku = $sku, name = $name, price_cents = $price_cents, category = $category, stock = $stock, note = $note
where id = $id returning *;

-- name: change_product :optional api::Product
update products
set name = coalesce($name, name), price_cents = coalesce($price_cents, price_cents), stock = coalesce($stock, stock),
  note = iif($has_note, $note, note)
where id = $id returning *;

-- name: remove_product :exec
delete from products where id = $id;
