import type { MdsStop } from "@bikeshare/contract/mds";
import { formFactorOf, type RecordContext } from "./records.rules.ts";
import type { StopRow } from "./stop-queries.ts";

/** Numbers of vehicles or docks by vehicle type of MDS. */
type Counts = MdsStop["capacity"];

/** What all stops for one agency have in common. In MDS, a station is called a stop. */
export interface StopContext extends RecordContext {
  /** The form factors of the system's vehicle types, by type id. */
  readonly formFactors: ReadonlyMap<string, string>;
}

/** Returns a station as agencies see it. */
export function stopRecord(row: StopRow, { providerId, uuid, formFactors }: StopContext): MdsStop {
  // Counts without a type count as the only form factor of the system, or as bicycles.
  const distinct = new Set(formFactors.values());
  const usual = formFactorOf(distinct.size === 1 ? [...distinct][0] : undefined);
  const counted = (n: number | null): Counts => (n === null ? {} : { [usual]: n });
  const isOnline = row.status === "online";
  return {
    stop_id: uuid("stop", row.id),
    name: short(row.name),
    last_updated: row.updated_at.getTime(),
    location: { lat: row.lat, lng: row.lon },
    status: {
      is_installed: row.is_installed,
      is_renting: isOnline && row.is_renting,
      is_returning: isOnline && row.is_returning,
    },
    capacity: counted(capacityOf(row)),
    num_vehicles_available: availableOf(row, formFactors, usual),
    // MDS has no number of reserved vehicles, so they count as disabled.
    num_vehicles_disabled:
      row.vehicles === null
        ? counted((row.num_bikes_disabled ?? 0) + row.num_bikes_reserved)
        : countByForm(row.vehicles, "reserved", "non_operational"),
    ...(row.num_docks_available !== null && { num_places_available: counted(row.num_docks_available) }),
    ...(row.num_docks_disabled !== null && { num_places_disabled: counted(row.num_docks_disabled) }),
    provider_id: providerId,
    ...(row.region_id !== null && { region_id: row.region_id }),
    ...(row.short_name !== null && { short_name: short(row.short_name) }),
    ...(row.address !== null && { address: short(row.address) }),
    ...(row.vehicles !== null && {
      devices: row.vehicles.flatMap(({ id, is_logged: isLogged }) => (isLogged ? uuid("device", id) : [])),
    }),
  };
}

/** Maximum characters of a text in MDS. */
const MAX_LENGTH = 255;

/** Shortens a text to the length that MDS allows. */
function short(text: string): string {
  return text.slice(0, MAX_LENGTH).toWellFormed();
}

/** Returns the number of docks: the capacity, or else the free, occupied and disabled docks together; null: unknown. */
function capacityOf(row: StopRow): number | null {
  if (row.capacity !== null) return row.capacity;
  if (row.num_docks_available === null) return null;
  const bikes = row.num_bikes_available + row.num_bikes_reserved + (row.num_bikes_disabled ?? 0);
  return bikes + row.num_docks_available + (row.num_docks_disabled ?? 0);
}

/**
 * Returns the number of available vehicles for each vehicle type of MDS. Vehicles for which the feed gives no type count as
 * the only type of the system, or as bicycles.
 */
function availableOf(row: StopRow, formFactors: StopContext["formFactors"], usual: keyof Counts): Counts {
  if (row.vehicles !== null) return countByForm(row.vehicles, "available");
  const counts: Counts = {};
  let rest = row.num_bikes_available;
  const add = (form: keyof Counts, n: number) => {
    if (n > 0) counts[form] = (counts[form] ?? 0) + n;
    rest -= n;
  };
  // `Math.min`: the counts by type of some feeds exceed their total.
  for (const { vehicle_type_id: type, count } of row.vehicle_types_available)
    add(formFactorOf(formFactors.get(type)), Math.min(count, rest));
  add(usual, rest);
  return counts;
}

/** Counts the vehicles in one of `states` by their type. */
function countByForm(vehicles: NonNullable<StopRow["vehicles"]>, ...states: readonly string[]): Counts {
  const counts: Counts = {};
  for (const { vehicle_state: state, form_factor: form } of vehicles) {
    if (!states.includes(state)) continue;
    const key = formFactorOf(form);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
