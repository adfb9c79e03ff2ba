alter table notes add column finished_at text;
