create table rows (id bigint not null, kind text not null);
create index rows_id on rows (id);
