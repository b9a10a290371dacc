-- oldest program: 0.1.0
-- The operator's app finds a bike by the public id of a link: docs/decisions/gbfs-out.md.

-- step: transaction
-- system. Public ids that bikes had until a ride ended: a link with one is good for some minutes more.
create table retired_public_ids (
  system_id  text collate "C" not null,
  public_id  text collate "C" not null,
  bike_id    text collate "C" not null,
  retired_at timestamptz(3) not null,
  primary key (system_id, public_id)
);
create index retired_public_ids_retired on retired_public_ids (system_id, retired_at);

-- step: autocommit
create index concurrently bikes_public_id on bikes (system_id, public_id) where public_id is not null;
