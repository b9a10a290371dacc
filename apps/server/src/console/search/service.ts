import type { FleetNames, FoundEntry } from "@bikeshare/contract/console";
import type { Queryable } from "../../storage/db/database.ts";
import { findForOperator, findForPartner, listNames, listSubjectNames, type SearchText } from "./queries.ts";

/* The search of the dashboard, and the names of the stations, bikes and other subjects that its pages mention. */

/**
 * Limits the rows of a kind that are read for a name. Names have no index: a ride changes indexed columns of its bike, so
 * PostgreSQL would also write to an index of the bikes' numbers. Too low: items of a large system are not found by name.
 * Too high: each search takes long.
 */
const MAX_ROWS = 50_000;
/** Further words are ignored. */
const MAX_WORDS = 8;

/**
 * Searches by id, then by name.
 * @param partnerId limits the search to the system's stations and the partner's own keys and deliveries; null: the operator
 */
export async function search(
  db: Queryable,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string | null },
  typed: string,
  maxRows = MAX_ROWS,
): Promise<FoundEntry[]> {
  const text = typed.trim();
  if (text === "") return [];
  const wanted = { ...readText(text), maxRows };
  const found =
    partnerId === null
      ? await findForOperator(db, systemId, wanted)
      : await findForPartner(db, { systemId, partnerId }, wanted);
  // Lists an item once that matches both by its id and by its name.
  return [...new Map(found.map((entry) => [`${entry.kind} ${entry.id}`, entry])).values()];
}

/** A bike, ride or reservation, by the fields that name others. */
interface Naming {
  readonly bike_id?: string | null;
  readonly station_id?: string | null;
  readonly start_station_id?: string | null;
  readonly end_station_id?: string | null;
}

/** Returns what people call the stations and bikes that items name. */
export async function namesIn(db: Queryable, systemId: string, items: readonly Naming[]): Promise<FleetNames> {
  const isId = (id: string | null | undefined): id is string => typeof id === "string";
  const stationIds = items.flatMap((item) => [item.station_id, item.start_station_id, item.end_station_id]);
  const stations = new Set(stationIds.filter(isId));
  const bikes = new Set(items.map(({ bike_id }) => bike_id).filter(isId));
  const named: { readonly [Kind in keyof FleetNames]: Record<string, string> } = { stations: {}, bikes: {} };
  if (stations.size + bikes.size === 0) return named;
  for (const { kind, id, name } of await listNames(db, systemId, { stations, bikes })) named[`${kind}s`][id] = name;
  return named;
}

/**
 * The kinds whose ids may repeat among each other, because the operator or a feed gives them. Their key includes the kind,
 * which is the first word of every action about them. Ids of other kinds do not repeat among each other, and an action about
 * them may begin with another word: the subject of `person.joined` is a partner or a system.
 */
const GIVEN_IDS = ["station", "bike", "ride", "region", "vehicle_type", "pricing_plan", "alert"];

/** Returns a key that no two things share. */
function uniqueKey(kind: string, id: string): string {
  return GIVEN_IDS.includes(kind) ? `${kind} ${id}` : id;
}

/**
 * Returns what people call the subjects of acts, in the order of the acts; undefined: the subject has no name, or no longer
 * exists.
 * @param acts for a kind of `GIVEN_IDS`, `action` begins with the kind of the subject
 */
export async function subjectNames(
  db: Queryable,
  systemId: string,
  acts: readonly { readonly action: string; readonly subject: string }[],
): Promise<readonly (string | undefined)[]> {
  const ids = new Set(acts.map(({ subject }) => subject));
  const found = ids.size === 0 ? [] : await listSubjectNames(db, systemId, ids);
  const names = new Map(
    found.map(({ kind, id, name }) => [uniqueKey(kind, id), kind === "bike" ? `Bike ${name}` : name]),
  );
  return acts.map(({ action, subject }) => {
    // The kind of the subject if that is one of `GIVEN_IDS`, as in `station.removed`.
    const [kind = ""] = action.split(".", 1);
    return names.get(uniqueKey(kind, subject));
  });
}

function readText(text: string): Omit<SearchText, "maxRows"> {
  const words = text.split(/\s+/).slice(0, MAX_WORDS);
  return { id: text, beginning: `${literal(text)}%`, words: words.map((word) => `%${literal(word)}%`) };
}

/** Escapes a text for a `like` pattern. */
function literal(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
