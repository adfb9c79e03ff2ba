create table notes (
  id      integer primary key,
  text    text not null,
  owner   text not null,
  made_at text not null
) strict;
create unique index notes_by_text on notes (owner, text);

create table tidied (
  at    text not null,
  notes integer not null
) strict;
