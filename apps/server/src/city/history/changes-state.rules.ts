import type { Station } from "@bikeshare/contract";

/*
 * The numbers and texts of `station_changes`, the table of the past states of stations. The database stores them, so
 * values may only be added at the end of a list.
 */

/** A station's status is stored as its position, from 1 on. */
export const STATUSES = ["planned", "online", "offline", "removed"] as const satisfies Station["status"][];

/** The reason why a station is offline is stored as its position, from 1 on; 0: none. */
export const OFFLINE_REASONS = [
  "flags",
  "operator",
  "removed_from_source",
  "stale",
] as const satisfies Station["offline_reason"][];

/**
 * What each part of `flags` is multiplied by. The status takes three bits, from 8 on; the reason takes all above them.
 */
export const FLAG_UNITS = { is_installed: 1, is_renting: 2, is_returning: 4, status: 8, offline_reason: 64 } as const;

/** The fields of a station that `flags` holds. */
type FlaggedFields = Pick<Station, "is_installed" | "is_renting" | "is_returning" | "status" | "offline_reason">;

/** Reads `flags`. @throws Error for a status that this program does not know */
export function readFlags(flags: number): FlaggedFields {
  const status = STATUSES[((flags / FLAG_UNITS.status) & 7) - 1];
  if (status === undefined) throw new Error(`unknown status in the flags ${flags} of a station's change`);
  return {
    is_installed: (flags & FLAG_UNITS.is_installed) !== 0,
    is_renting: (flags & FLAG_UNITS.is_renting) !== 0,
    is_returning: (flags & FLAG_UNITS.is_returning) !== 0,
    status,
    offline_reason: OFFLINE_REASONS[Math.floor(flags / FLAG_UNITS.offline_reason) - 1] ?? null,
  };
}

/** Reads `by_type`: `["a",1,"b",2]`. */
export function readByType(text: string): Station["vehicle_types_available"] {
  const values = JSON.parse(text) as unknown[];
  const types: Station["vehicle_types_available"] = [];
  for (let index = 0; index + 1 < values.length; index += 2)
    types.push({ vehicle_type_id: String(values[index]), count: Number(values[index + 1]) });
  return types;
}

/**
 * Returns a function that makes the JSON of a station as it was at an instant. Its input is texts with tabs between: the
 * beginning of the station's JSON, flags, bikes, reserved bikes, disabled bikes, docks, disabled docks, the time since which
 * the station had this state, and the bikes by type (as JSON or as in `station_changes`).
 */
export function pastStationJson(instant: Date): (row: string) => string {
  // Texts are cached, because stations share a few flags, and often the same bikes by type.
  const flagTexts = new Map<string, { readonly first: string; readonly last: string }>();
  const typeTexts = new Map<string, string>();
  const asOf = instant.toISOString();
  return (row) => {
    const [described, flags = "", bikes, reserved, disabled, docks, docksDisabled, since, types = ""] = row.split("\t");
    const { first, last } = remembered(flagTexts, flags, flagsText);
    const byType = types.startsWith("[{")
      ? types
      : remembered(typeTexts, types, (text) => JSON.stringify(readByType(text)));
    return (
      `${described}${first},"num_bikes_available":${bikes},"num_bikes_reserved":${reserved},"num_bikes_disabled":${disabled}` +
      `,"num_docks_available":${docks},"num_docks_disabled":${docksDisabled},"vehicle_types_available":${byType},${last}` +
      `,"last_reported":null,"updated_at":"${since}","as_of":"${asOf}"}`
    );
  };
}

/** Returns the JSON fields that `flags` contains: those that stand before the counters, and those after. */
function flagsText(flags: string): { readonly first: string; readonly last: string } {
  const { status, offline_reason, ...shown } = readFlags(Number(flags));
  const inside = (fields: object) => JSON.stringify(fields).slice(1, -1);
  return { first: inside(shown), last: inside({ status, offline_reason }) };
}

/** Returns the cached value of a text; makes it the first time. */
function remembered<Value>(known: Map<string, Value>, text: string, make: (text: string) => Value): Value {
  const value = known.get(text) ?? make(text);
  known.set(text, value);
  return value;
}
