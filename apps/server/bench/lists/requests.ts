import { type Filter, listFilters } from "@bikeshare/rules";
import type { Database } from "../../src/storage/db/database.ts";
import type { ListName } from "./rows.ts";

/** A value of a filter. `kind` says how many items match it. */
interface Sample {
  readonly name: string;
  readonly kind: string;
  readonly value: string;
}

/** A request for a list with one or two filters. */
export interface Combination {
  /** The names of the filters. The report has one row for them. */
  readonly filters: string;
  /** The filters with their values, for the report. */
  readonly text: string;
  readonly query: string;
}

/** Returns every filter of a list and every pair of filters, each with values that match most items, few, or none. */
export async function combinationsOf(db: Database, list: ListName): Promise<Combination[]> {
  const filters: Readonly<Record<string, Filter>> = listFilters[list];
  const names = Object.keys(filters);
  const samples = new Map<string, Sample[]>();
  for (const [name, filter] of Object.entries(filters)) samples.set(name, await samplesOf(db, list, name, filter));
  const of = (name: string) => samples.get(name) ?? [];
  const singles = names.flatMap((name) => of(name).map((sample) => [sample]));
  const pairs: Sample[][] = [];
  for (const [index, one] of names.entries()) {
    for (const other of names.slice(index + 1)) {
      for (const first of of(one)) for (const second of of(other)) pairs.push([first, second]);
    }
  }
  return [...singles, ...pairs].map((chosen) => ({
    filters: chosen.map(({ name }) => name).join(" + "),
    text: chosen.map(({ name, kind }) => `${name} (${kind})`).join(", "),
    query: chosen.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join("&"),
  }));
}

/** The table of each list. */
const TABLES: Readonly<Record<ListName, string>> = {
  stations: "stations",
  bikes: "bikes",
  rides: "rides",
  reservations: "reservations",
  events: "events",
};

/** The columns of fields that have another name in the table. */
const COLUMNS: Readonly<Record<string, string>> = { event: "name" };

/** Returns values of a filter, as they occur in the data set. */
async function samplesOf(db: Database, list: ListName, name: string, filter: Filter): Promise<Sample[]> {
  const [comparison, field = ""] = filter;
  const column = COLUMNS[field] ?? field;
  const rows = (text: string) => db.query<{ value: string }>({ name: "", text });
  if (comparison === "within") {
    return [
      { name, kind: "everywhere", value: "-180,-90,180,90" },
      { name, kind: "nowhere", value: "170,-80,171,-79" },
    ];
  }
  if (comparison === "equals") {
    // Counts only a million rows, because the very rarest values of the whole list are not needed.
    const found = await rows(`
      select ${column} as value from (select ${column} from ${TABLES[list]} where ${column} is not null limit 1000000) as counted
      group by 1 order by count(*) desc`);
    const [common, rare] = [found[0], found.at(-1)];
    return [
      ...(common === undefined ? [] : [{ name, kind: "common", value: common.value }]),
      ...(rare === undefined || found.length < 2 ? [] : [{ name, kind: "rare", value: rare.value }]),
    ];
  }
  // The other comparisons, `since` and `before`, are with an instant. An empty table has no first and last one.
  const at = async (kind: string, sql: string): Promise<Sample[]> => {
    const [row] = await rows(`select to_char((${sql}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as value`);
    return row?.value ? [{ name, kind, value: row.value }] : [];
  };
  const [first, last] = [
    `(select min(${column}) from ${TABLES[list]})`,
    `(select max(${column}) from ${TABLES[list]})`,
  ];
  return [
    ...(await at("all", comparison === "since" ? first : `${last} + interval '1 day'`)),
    ...(await at("half", `${first} + (${last} - ${first}) / 2`)),
    ...(await at("few", comparison === "since" ? `${last} - interval '1 hour'` : `${first} + interval '1 hour'`)),
    ...(await at("none", comparison === "since" ? `now() + interval '1 day'` : first)),
  ];
}
