import { isObject } from "../gbfs/values.ts";

/** The lists of records that agencies read, by their names in responses. */
export type RecordList = "vehicles" | "vehicles_status" | "events" | "telemetry" | "trips" | "stops" | "reports";

/**
 * The fields that an agency's requirement file disallows, by list. A field is a name, such as `route`, or a path, such
 * as `vehicle_attributes.year`.
 */
export type LeftOutFields = { readonly [List in RecordList]?: readonly string[] };

/**
 * Returns a record without the disallowed fields. A name is removed wherever it occurs in the record: a disallowed
 * `location` is also removed from the `last_event` of a status.
 */
export function leaveOut<Value>(fields: readonly string[] | undefined, value: Value): Value {
  if (fields === undefined || fields.length === 0) return value;
  return without(value, fields, "") as Value; // agencies that disallow fields get less than the schema says
}

function without(value: unknown, fields: readonly string[], path: string): unknown {
  if (Array.isArray(value)) return value.map((each) => without(each, fields, path));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
    const at = path === "" ? name : `${path}.${name}`;
    const isLeftOut = fields.includes(name) || fields.includes(at);
    return isLeftOut ? [] : [[name, without(each, fields, at)]];
  });
  return Object.fromEntries(kept);
}
