import { serviceError } from "@bikeshare/rules";
import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import type { FilteredReads, ListReader } from "../../storage/lists/read-context.ts";
import { dayOf } from "../../storage/partitions/partition.rules.ts";
import { HOUR_MS, isSettled } from "./hours.rules.ts";
import { everywhere, type Jurisdiction, jurisdictionOf } from "./jurisdiction.rules.ts";
import type { LeftOutFields } from "./left-out.rules.ts";
import { type UuidNames, uuidNames } from "./names.rules.ts";
import {
  type AgencyRow,
  type EventRow,
  findAgency,
  findStateOfHour,
  findStateOfTrips,
  findVehicle,
  type LogHour,
  type PointRow,
  listEvents,
  listPoints,
  listRecentEvents,
  listTrips,
  listVehicleIds,
  listVehicles,
  type TripRow,
  type VehicleRow,
} from "./queries.ts";
import type { RecordContext } from "./records.rules.ts";

export type { VehicleRow } from "./queries.ts";

/** The context of an agency's requests. */
export interface AgencyReads {
  readonly filtered: FilteredReads;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** An agency that asks, and what its records have in common. */
export interface Agency extends RecordContext {
  readonly whose: ListReader;
  readonly agencyId: string;
  readonly loggedSince: number;
  /** The trips that ended from then on are given. */
  readonly tripsSince: number;
  /** Where its months begin; null: in the system's time zone. */
  readonly timeZone: string | null;
  /** The fields that it may not be given. */
  readonly leftOut: LeftOutFields;
  /** Changes with its boundary; null: it has none. */
  readonly boundaryHash: string | null;
}

/** Returns the agency whose key it is. @throws Error when the partner is none: no other partner gets such a key */
export async function agencyOf({ filtered }: AgencyReads, whose: ListReader): Promise<Agency> {
  const known = new Map(jurisdictions);
  const row = await filtered.read(whose, (db) => findAgency(db, whose.systemId, whose.partnerId, [...known.keys()]));
  if (row === undefined) throw new Error(`partner ${whose.partnerId} has an agency's key and is no agency`);
  return {
    whose,
    agencyId: row.agency_id,
    providerId: row.provider_id,
    loggedSince: row.logged_since.getTime(),
    tripsSince: (row.trips_since ?? row.logged_since).getTime(),
    timeZone: row.time_zone,
    leftOut: row.left_out ?? {},
    uuid: namesOf(row.namespace),
    boundaryHash: row.boundary_hash,
    isWithin: jurisdictionIn(row, known),
  };
}

/** The boundaries that were asked for last, by their hashes. */
const jurisdictions = new Map<string, Jurisdiction>();
const MAX_JURISDICTIONS = 20;

/** @param known those whose boundaries were not read once more */
function jurisdictionIn(
  { boundary_hash: hash, new_boundary: boundary }: AgencyRow,
  known: ReadonlyMap<string, Jurisdiction>,
): Jurisdiction {
  if (hash === null) return everywhere;
  const held = known.get(hash);
  if (held !== undefined) return held;
  if (boundary === null) throw new Error(`a boundary is missing: ${hash}`);
  if (jurisdictions.size >= MAX_JURISDICTIONS) jurisdictions.clear();
  const made = jurisdictionOf(boundary);
  jurisdictions.set(hash, made);
  return made;
}

/** The names of the systems that were asked for last. */
const names = new Map<string, UuidNames>();
const MAX_SYSTEMS = 20;

function namesOf(namespace: string): UuidNames {
  const known = names.get(namespace);
  if (known !== undefined) return known;
  if (names.size >= MAX_SYSTEMS) names.clear();
  const made = uuidNames(namespace);
  names.set(namespace, made);
  return made;
}

const MINUTE_MS = 60_000;

/** For how long a vehicle that left is listed, by list. */
const LEFT_MS = { deployed: 30 * 24 * HOUR_MS, statuses: 90 * MINUTE_MS } as const;

/** Returns since when a vehicle may have left and is still listed, in milliseconds since 1970. */
export function leftSince({ clock }: AgencyReads, list: keyof typeof LEFT_MS): number {
  return clock() - LEFT_MS[list];
}

/** Vehicles of a page. Too low: an agency asks often. Too high: one answer takes its time from others. */
const PAGE_SIZE = 500;

/** Returns the vehicles after an id, and the id after which the next page begins; undefined on the last page. */
export async function vehiclePage(
  reads: AgencyReads,
  { whose }: Agency,
  list: keyof typeof LEFT_MS,
  after: string,
): Promise<{ readonly rows: readonly VehicleRow[]; readonly next: string | undefined }> {
  const part = { after, leftSince: leftSince(reads, list), limit: PAGE_SIZE + 1 };
  const rows = await reads.filtered.read(whose, (db) => listVehicles(db, whose.systemId, list, part));
  const page = rows.slice(0, PAGE_SIZE);
  return { rows: page, next: rows.length > PAGE_SIZE ? page.at(-1)?.id : undefined };
}

/** Ids that are looked through at a time. */
const SEARCHED_IDS = 10_000;

/** How a thing that agencies know by a UUID is found. */
interface NamedLookUp<Row> {
  readonly kind: "device" | "stop";
  readonly listIds: (db: QueryRunner, systemId: string, after: string, limit: number) => Promise<readonly string[]>;
  readonly find: (db: QueryRunner, systemId: string, id: string) => Promise<Row | undefined>;
}

/**
 * Returns what an agency knows by a UUID. The UUID follows from the id and not the other way round, so the ids are looked
 * through: 40,000 take some 60 ms, and an agency has a rate limit.
 * @throws ServiceError `not_found`
 */
export async function findNamed<Row>(
  { filtered }: AgencyReads,
  { whose, uuid }: Agency,
  named: string,
  { kind, listIds, find }: NamedLookUp<Row>,
): Promise<Row> {
  const wanted = named.toLowerCase();
  let after = "";
  while (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(wanted)) {
    const from = after;
    const ids = await filtered.read(whose, (db) => listIds(db, whose.systemId, from, SEARCHED_IDS));
    const id = ids.find((each) => uuid(kind, each) === wanted);
    const found = id === undefined ? undefined : await filtered.read(whose, (db) => find(db, whose.systemId, id));
    if (found !== undefined) return found;
    if (ids.length < SEARCHED_IDS) break;
    after = ids.at(-1) ?? "";
  }
  throw serviceError("not_found", kind);
}

/** Returns the vehicle that an agency knows by a UUID. @throws ServiceError `not_found` */
export function vehicleOfDevice(reads: AgencyReads, agency: Agency, deviceId: string): Promise<VehicleRow> {
  return findNamed(reads, agency, deviceId, { kind: "device", listIds: listVehicleIds, find: findVehicle });
}

/** An hour of a list that is settled. */
export interface SettledHour<Row> {
  /** Changes whenever the hour does. */
  readonly version: string;
  /** Its rows, some at a time: each batch is read when the one before was taken. */
  readonly batches: () => AsyncGenerator<readonly Row[]>;
}

/** Events of a batch: about half a megabyte of JSON. */
const BATCH_SIZE = 1_000;

/** Events are not later than that: no report may say so. */
const MAX_AHEAD_MS = 24 * HOUR_MS;

/** Lies before the id of every event. */
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Returns the events of an hour; undefined when it is not settled.
 * @param hour its start, milliseconds since 1970
 * @throws ServiceError `not_found` for an hour that never has events
 */
export function eventsOfHour(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
): Promise<SettledHour<EventRow> | undefined> {
  return settledHour(reads, agency, hour, {
    since: agency.loggedSince,
    state: findStateOfHour,
    list: (db, systemId, span, last: EventRow | undefined) =>
      listEvents(db, systemId, span, last ?? { at: span.from, id: FIRST_ID }, BATCH_SIZE),
  });
}

/** Like `eventsOfHour`, of the rides that ended in the hour. */
export function tripsOfHour(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
): Promise<SettledHour<TripRow> | undefined> {
  return settledHour(reads, agency, hour, {
    since: agency.tripsSince,
    state: findStateOfTrips,
    list: (db, systemId, span, last: TripRow | undefined) =>
      listTrips(db, systemId, span, last ?? { ended_at: span.from, id: "" }, BATCH_SIZE),
  });
}

/**
 * Returns where vehicles were in an hour, at its events and by their reports. It is never refused: MDS has neither 202 nor
 * 404 for it, and what comes later changes the hour.
 */
export async function telemetryOfHour(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
): Promise<SettledHour<PointRow>> {
  const isLogged = hour + HOUR_MS > agency.loggedSince && hour <= reads.clock() + MAX_AHEAD_MS;
  if (!isLogged) return { version: "none", async *batches() {} };
  return hourOf(reads, agency, hour, {
    state: findStateOfHour,
    list: (db, systemId, span, last: PointRow | undefined) =>
      listPoints(db, systemId, span, last ?? { at: span.from, id: FIRST_ID }, BATCH_SIZE),
  });
}

/** The statements that read an hour of a list. */
interface HourReads<Row> {
  readonly state: (
    db: QueryRunner,
    systemId: string,
    span: LogHour,
  ) => Promise<{ readonly n: number; readonly recorded_at: Date | null }>;
  /** @param last the last row of the batch before */
  readonly list: (db: QueryRunner, systemId: string, span: LogHour, last: Row | undefined) => Promise<readonly Row[]>;
}

async function settledHour<Row>(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
  { since, ...statements }: HourReads<Row> & { readonly since: number },
): Promise<SettledHour<Row> | undefined> {
  if (!isSettled(hour, { now: reads.clock(), since })) return undefined;
  return hourOf(reads, agency, hour, statements);
}

async function hourOf<Row>(
  { filtered }: AgencyReads,
  { whose }: Agency,
  hour: number,
  { state, list }: HourReads<Row>,
): Promise<SettledHour<Row>> {
  const span: LogHour = { day: dayOf(hour), from: new Date(hour), to: new Date(hour + HOUR_MS) };
  const { n, recorded_at: recordedAt } = await filtered.read(whose, (db) => state(db, whose.systemId, span));
  async function* batches() {
    let last: Row | undefined;
    for (;;) {
      const from = last;
      const rows = await filtered.read(whose, (db) => list(db, whose.systemId, span, from));
      if (rows.length > 0) yield rows;
      if (rows.length < BATCH_SIZE) return;
      last = rows.at(-1);
    }
  }
  return { version: `${n} ${recordedAt?.getTime() ?? 0}`, batches };
}

/** How far back the events of any times are read. */
const RECENT_MS = 14 * 24 * HOUR_MS;

/** The times of events that an agency asks for, in milliseconds since 1970. */
export interface EventSpan {
  readonly from: number;
  readonly to: number;
}

/** The place of an event in their order. */
export interface EventPlace {
  readonly at: number;
  readonly id: string;
}

/**
 * Returns the events of a span that follow a place, and the place after which the next page begins; undefined on the last.
 * @throws ServiceError `invalid_parameter` where the span begins more than two weeks ago, or ends before it begins
 */
export async function recentEvents(
  { filtered, clock }: AgencyReads,
  { whose }: Agency,
  { from, to }: EventSpan,
  after: EventPlace | undefined,
): Promise<{ readonly rows: readonly EventRow[]; readonly next: EventPlace | undefined }> {
  if (from > to) throw serviceError("invalid_parameter", "timesReversed");
  const oldest = clock() - RECENT_MS;
  if (from < oldest) throw serviceError("invalid_parameter", "notRecent", { oldest });
  const last = Math.min(to, clock() + MAX_AHEAD_MS);
  if (from >= last) return { rows: [], next: undefined };
  const span = { from: new Date(from), to: new Date(last), firstDay: dayOf(from), lastDay: dayOf(last) };
  const place = { at: new Date(after?.at ?? from), id: after?.id ?? FIRST_ID };
  const rows = await filtered.read(whose, (db) => listRecentEvents(db, whose.systemId, span, place, PAGE_SIZE + 1));
  const page = rows.slice(0, PAGE_SIZE);
  const end = rows.length > PAGE_SIZE ? page.at(-1) : undefined;
  return { rows: page, next: end && { at: end.at.getTime(), id: end.id } };
}

/** Writes into the audit log what an agency reads of where vehicles and their riders went. @param what the endpoint, and of when */
export async function recordRead(
  context: Omit<ActorContext, "actor">,
  { whose: { systemId, partnerId } }: Agency,
  keyId: string,
  what: { readonly endpoint: string } & Readonly<Record<string, string>>,
): Promise<void> {
  const act = { systemId, action: "mds.read", subject: partnerId, detail: what };
  await insertActOf({ ...context, actor: `key:${keyId}` }, context.db, act);
}
