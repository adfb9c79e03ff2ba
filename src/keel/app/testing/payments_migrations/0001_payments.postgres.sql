create table payments (
  id       bigint generated always as identity primary key,
  customer text not null,
  amount   numeric not null
);
