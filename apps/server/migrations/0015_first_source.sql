-- oldest program: 0.1.0
-- The name and zone of a system come from its first source: docs/decisions/gbfs-out.md.

-- step: transaction
-- sources that are there already have the time of this migration, and stay in the order of their names
alter table gbfs_sources add column first_at timestamptz not null default now();
