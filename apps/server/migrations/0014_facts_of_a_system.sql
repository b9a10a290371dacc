-- What the operator says of a system, of its vehicle types and of its regions; and what finds bikes and stations on a map.

-- The operator's word on the system; null: nothing. GBFS publishes them as `operator`, `url` and `license_id` or
-- `license_url`.
alter table systems add column operator text;
alter table systems add column url text;
-- An SPDX identifier or an address.
alter table systems add column licence text;

-- reference. The operator's word on a vehicle type; null: what a source's feed says holds.
create table vehicle_types (
  system_id        text collate "C" not null,
  id               text collate "C" not null check (length(id) between 1 and 255),
  name             text,
  form_factor      text check (form_factor in
    ('bicycle', 'cargo_bicycle', 'car', 'moped', 'scooter_standing', 'scooter_seated', 'other')),
  propulsion_type  text check (propulsion_type in ('human', 'electric_assist', 'electric', 'combustion',
    'combustion_diesel', 'hybrid', 'plug_in_hybrid', 'hydrogen_fuel_cell')),
  max_range_meters double precision check (max_range_meters >= 0),
  primary key (system_id, id)
);
alter table vehicle_types add foreign key (system_id) references systems (system_id);

-- reference. The operator's word on a region.
create table regions (
  system_id text collate "C" not null,
  id        text collate "C" not null check (length(id) between 1 and 255),
  name      text not null,
  primary key (system_id, id)
);
alter table regions add foreign key (system_id) references systems (system_id);

-- What lies within a rectangle of the map: its latitudes as a range, its longitudes and the
-- ids, by which lists are ordered, read in the index itself.
create index stations_location on stations (system_id, lat, lon, id);
create index bikes_location on bikes (system_id, lat, lon, id) where lat is not null;

-- Which vehicle types there are: found by stepping from one to the next, whatever the number of bikes and rides.
create index bikes_vehicle_type on bikes (system_id, vehicle_type_id) where vehicle_type_id is not null;
create index rides_vehicle_type on rides (system_id, vehicle_type_id) where vehicle_type_id is not null;
