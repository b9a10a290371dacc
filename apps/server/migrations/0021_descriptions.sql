-- oldest program: 0.1.0
-- What the operator says, in the words of GBFS: docs/decisions/gbfs-out.md. Replaces the facts in `systems` except the name, and
-- `vehicle_types` and `regions`, which a later release removes: programs of this one still read them while they are replaced.

-- step: transaction
-- system. What the operator says of the system, its vehicle types, regions, stations, bikes, pricing plans and zones.
create table descriptions (
  system_id text collate "C" not null,
  kind      text collate "C" not null check (kind in
    ('system', 'vehicle_type', 'region', 'station', 'bike', 'pricing_plan', 'geofencing_zones')),
  -- the operator's id; empty: there is one of its kind
  id        text collate "C" not null check (length(id) <= 255),
  -- facts by their names, in the form of GBFS 3.1; what is absent was not said
  content   jsonb not null,
  set_at    timestamptz(3) not null,
  primary key (system_id, kind, id)
);

-- step: transaction
insert into descriptions (system_id, kind, id, content, set_at)
select system_id, 'system', '', jsonb_strip_nulls(jsonb_build_object(
  'operator', case when operator is not null
    then jsonb_build_array(jsonb_build_object('text', operator, 'language', coalesce(language, 'en'))) end,
  'timezone', timezone, 'language', language, 'feed_contact_email', feed_contact_email,
  'opening_hours', opening_hours, 'url', url, 'licence', licence)), now()
from systems;

-- step: transaction
insert into descriptions (system_id, kind, id, content, set_at)
select system_id, 'vehicle_type', t.id, jsonb_strip_nulls(jsonb_build_object(
  'name', case when t.name is not null
    then jsonb_build_array(jsonb_build_object('text', t.name, 'language', coalesce(s.language, 'en'))) end,
  'form_factor', form_factor, 'propulsion_type', propulsion_type, 'max_range_meters', max_range_meters)), now()
from vehicle_types t join systems s using (system_id);

-- step: transaction
insert into descriptions (system_id, kind, id, content, set_at)
select system_id, 'region', r.id, jsonb_build_object(
  'name', jsonb_build_array(jsonb_build_object('text', r.name, 'language', coalesce(s.language, 'en')))), now()
from regions r join systems s using (system_id);
