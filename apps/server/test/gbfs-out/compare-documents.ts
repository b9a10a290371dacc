/** A value, with the ids of the record that contains it. */
type Value = readonly [owner: string, value: unknown];

/** The values of a document, by the path of the field: `data.stations[].name`. */
type Fields = Map<string, Value[]>;

/** Matches fields of vehicles, whose ids rotate and whose order is arbitrary. */
const vehicles = /^data\.(bikes|vehicles)\[\]/;
/** Values that later versions of GBFS write differently. */
const rewritten = new Map<unknown, unknown>([["scooter", "scooter_standing"]]);

/**
 * Returns what one GBFS document contains and another of the same version does not, one line for each field. Vehicles are
 * compared without their order. Values are compared by meaning: 1 equals true, "1.00" equals 1, spaces around a text do not
 * count, and ranges are rounded to metres.
 * @param notOfGbfs names of fields that GBFS does not have
 */
export function lostFields(given: unknown, published: unknown, notOfGbfs: readonly string[] = []): string[] {
  const after = fieldsOf(published);
  return [...fieldsOf(given)].flatMap(([path, values]) => {
    if (notOfGbfs.some((name) => path.endsWith(`.${name}`))) return [];
    const kept = after.get(path) ?? [];
    if (kept.length < values.length) return [`${path}: ${kept.length} of ${values.length}`];
    if (/\.(bike|vehicle)_id$/.test(path)) return [];
    const left = new Map<string, number>();
    for (const value of kept) count(left, meaning(path, value, kept), 1);
    const missing = values.filter((value) => count(left, meaning(path, value, kept), -1) < 0);
    return missing.length === 0 ? [] : [`${path}: ${missing.length} differ, such as ${JSON.stringify(missing[0])}`];
  });
}

function count(counts: Map<string, number>, key: string, by: number): number {
  const sum = (counts.get(key) ?? 0) + by;
  counts.set(key, sum);
  return sum;
}

/** @param kept the published values of the field, which show its type */
function meaning(path: string, [owner, value]: Value, kept: readonly Value[]): string {
  const known = rewritten.get(value) ?? value;
  const text = typeof known === "string" ? plain(known) : known;
  const type = typeof kept[0]?.[1];
  if (type === "boolean") return JSON.stringify([owner, Boolean(text)]);
  if (type !== "number") return JSON.stringify([owner, text]);
  const number = Number(text);
  return JSON.stringify([owner, path.endsWith(".current_range_meters") ? Math.floor(number) : number]);
}

function plain(text: string): string | number {
  return /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : text.trim();
}

const ids = ["station_id", "vehicle_type_id", "plan_id", "region_id", "alert_id"];

function fieldsOf(document: unknown): Fields {
  const fields: Fields = new Map();
  const add = (value: unknown, path: string, owner: string): void => {
    if (Array.isArray(value)) for (const each of value) add(each, `${path}[]`, owner);
    else if (typeof value === "object" && value !== null) {
      const record = value as Record<string, unknown>;
      const id = vehicles.test(path) ? undefined : ids.find((name) => typeof record[name] === "string");
      const own = id === undefined ? owner : `${owner}/${String(record[id])}`;
      // The keys of these objects are ids, not names of fields.
      const isCounts = /\.vehicle_(type_)?capacity$/.test(path);
      for (const [name, each] of Object.entries(record)) {
        if (isCounts) add(each, `${path}.*`, `${own}/${name}`);
        else add(each, `${path}.${name}`, own);
      }
    } else {
      const values = fields.get(path) ?? [];
      values.push([owner, value]);
      fields.set(path, values);
    }
  };
  add((document as { data: unknown }).data, "data", "");
  return fields;
}
