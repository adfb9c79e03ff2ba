create table idempotency_keys (
  client          text not null,
  idempotency_key text not null,
  fingerprint     text not null,
  status          integer not null,
  content_type    text not null,
  fields          text not null,
  content         blob not null,
  created_at      text not null,
  primary key (client, idempotency_key)
) strict, without rowid;
create index idempotency_keys_by_time on idempotency_keys (created_at);
