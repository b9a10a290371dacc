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

/*
 * What agencies read by MDS: vehicles, their events and positions from the log of vehicle events, and trips. Agencies read
 * events and trips hour by hour. An hour is settled when late reports no longer change it (`hours.rules.ts`).
 */

/** The context of an agency's requests. */
export interface AgencyReads {
  readonly filtered: FilteredReads;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** The agency that sent a request, and what all records for it have in common. */
export interface Agency extends RecordContext {
  /** The partner that the agency is, for reads: they take turns with the partner's other reads. */
  readonly whose: ListReader;
  readonly agencyId: string;
  /** When the system's log of vehicle events began, in milliseconds since 1970. */
  readonly loggedSince: number;
  /** The agency reads trips that ended at or after this time, in milliseconds since 1970. */
  readonly tripsSince: number;
  /** The time zone of its monthly reports; null: the system's time zone. */
  readonly timeZone: string | null;
  /** The fields that its requirement file disallows. */
  readonly leftOut: LeftOutFields;
  /** A hash of its boundary; null: it has no boundary. */
  readonly boundaryHash: string | null;
}

/**
 * Returns the agency behind a key.
 * @throws Error when the partner is not an agency, which is a bug, because only agencies get keys with `mds:read`
 */
export async function agencyOf({ filtered }: AgencyReads, whose: ListReader): Promise<Agency> {
  // A copy, because another request may clear the cache while the statement runs.
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

/** The cached jurisdictions of recently used boundaries, by hash. Building one for each request would take too long. */
const jurisdictions = new Map<string, Jurisdiction>();
/** Most cached jurisdictions. Too low: some are built for each request. Too high: they fill the memory. */
const MAX_JURISDICTIONS = 20;

/** Returns an agency's jurisdiction. @param known the cached jurisdictions, whose boundaries the statement did not read */
function jurisdictionIn(
  { boundary_hash: hash, new_boundary: boundary }: AgencyRow,
  known: ReadonlyMap<string, Jurisdiction>,
): Jurisdiction {
  if (hash === null) return everywhere;
  const held = known.get(hash);
  if (held !== undefined) return held;
  // The statement leaves out only the boundaries in `known`.
  if (boundary === null) throw new Error(`a boundary is missing: ${hash}`);
  if (jurisdictions.size >= MAX_JURISDICTIONS) jurisdictions.clear();
  const made = jurisdictionOf(boundary);
  jurisdictions.set(hash, made);
  return made;
}

/** The cached functions that compute UUIDs, by the namespaces of recently used systems. */
const names = new Map<string, UuidNames>();
const MAX_SYSTEMS = 20;

/** Returns the function that computes the UUIDs of a system. @param namespace the system's secret UUID */
function namesOf(namespace: string): UuidNames {
  const known = names.get(namespace);
  if (known !== undefined) return known;
  if (names.size >= MAX_SYSTEMS) names.clear();
  const made = uuidNames(namespace);
  names.set(namespace, made);
  return made;
}

const MINUTE_MS = 60_000;

/** How long a vehicle stays listed after it left the agency's boundary or the fleet, by list. */
const LEFT_MS = { deployed: 30 * 24 * HOUR_MS, statuses: 90 * MINUTE_MS } as const;

/** Returns the instant, in milliseconds since 1970, after which a vehicle must have left to be still listed. */
export function leftSince({ clock }: AgencyReads, list: keyof typeof LEFT_MS): number {
  return clock() - LEFT_MS[list];
}

/** Vehicles on a page. Too low: an agency makes many requests. Too high: one response delays others. */
const PAGE_SIZE = 500;

/**
 * Returns a page of vehicles after an id, and the id after which the next page begins; undefined: it is the last page.
 */
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

/** Ids that one statement reads when the id of a UUID is searched. */
const SEARCHED_IDS = 10_000;

/** The statements that find a row of one kind: a vehicle (`device` in MDS) or a station (`stop`). */
interface NamedLookUp<Row> {
  readonly kind: "device" | "stop";
  /** Returns ids of this kind after an id, in the order of ids. */
  readonly listIds: (db: QueryRunner, systemId: string, after: string, limit: number) => Promise<readonly string[]>;
  readonly find: (db: QueryRunner, systemId: string, id: string) => Promise<Row | undefined>;
}

/**
 * Finds a row by the UUID that agencies see instead of its id. An id cannot be computed from its UUID, so the function
 * computes the UUIDs of all ids. 40,000 take some 60 ms; the agency's rate limit bounds how often that happens.
 * @throws ServiceError `not_found`
 */
export async function findNamed<Row>(
  { filtered }: AgencyReads,
  { whose, uuid }: Agency,
  named: string,
  { kind, listIds, find }: NamedLookUp<Row>,
): Promise<Row> {
  const wanted = named.toLowerCase();
  const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(wanted);
  if (!isUuid) throw serviceError("not_found", kind);
  let after = "";
  // Reads the ids batch by batch.
  for (;;) {
    const from = after;
    const ids = await filtered.read(whose, (db) => listIds(db, whose.systemId, from, SEARCHED_IDS));
    const id = ids.find((each) => uuid(kind, each) === wanted);
    const found = id === undefined ? undefined : await filtered.read(whose, (db) => find(db, whose.systemId, id));
    if (found !== undefined) return found;
    if (ids.length < SEARCHED_IDS) throw serviceError("not_found", kind);
    after = ids.at(-1) ?? "";
  }
}

/** Returns the vehicle with a UUID. @throws ServiceError `not_found` */
export function vehicleOfDevice(reads: AgencyReads, agency: Agency, deviceId: string): Promise<VehicleRow> {
  return findNamed(reads, agency, deviceId, { kind: "device", listIds: listVehicleIds, find: findVehicle });
}

/** What an agency may read of one hour of a list, such as the trips of an hour. */
export interface HourContent<Row> {
  /** A text that changes whenever the content changes. */
  readonly version: string;
  /** Its rows in batches. A batch is read only after the previous one was used. */
  readonly batches: () => AsyncGenerator<readonly Row[]>;
}

/** Events, positions or rides of a batch: about half a megabyte of JSON. */
const BATCH_SIZE = 1_000;

/** No event is so far in the future: reports of times that are more than some minutes ahead are rejected. */
const MAX_AHEAD_MS = 24 * HOUR_MS;

/** Sorts before the id of every event. */
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Returns the events of an hour; undefined when it is not settled.
 * @param hour the start of the hour, in milliseconds since 1970
 * @throws ServiceError `not_found` for the same hours as `isSettled`
 */
export function eventsOfHour(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
): Promise<HourContent<EventRow> | undefined> {
  return settledHour(reads, agency, hour, {
    since: agency.loggedSince,
    state: findStateOfHour,
    list: (db, systemId, span, last: EventRow | undefined) =>
      listEvents(db, systemId, span, last ?? { at: span.from, id: FIRST_ID }, BATCH_SIZE),
  });
}

/** Like `eventsOfHour`, for the rides that ended in the hour, but not before the agency's `tripsSince`. */
export function tripsOfHour(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
): Promise<HourContent<TripRow> | undefined> {
  const from = new Date(Math.max(hour, agency.tripsSince));
  return settledHour(reads, agency, hour, {
    since: agency.tripsSince,
    state: (db, systemId, span) => findStateOfTrips(db, systemId, { ...span, from }),
    list: (db, systemId, span, last: TripRow | undefined) =>
      listTrips(db, systemId, { ...span, from }, last ?? { ended_at: from, id: "" }, BATCH_SIZE),
  });
}

/**
 * Returns the positions of vehicles in an hour, from events and reports. Does not wait until the hour is settled, although
 * late reports may still change it, because MDS has no 202 and no 404 for telemetry.
 */
export async function telemetryOfHour(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
): Promise<HourContent<PointRow>> {
  const isLogged = hour + HOUR_MS > agency.loggedSince && hour <= reads.clock() + MAX_AHEAD_MS;
  if (!isLogged) return { version: "none", async *batches() {} };
  return hourOf(reads, agency, hour, {
    state: findStateOfHour,
    list: (db, systemId, span, last: PointRow | undefined) =>
      listPoints(db, systemId, span, last ?? { at: span.from, id: FIRST_ID }, BATCH_SIZE),
  });
}

/** The statements that read an hour of one list. */
interface HourReads<Row> {
  /** Returns the number of rows, and when the newest was written. Any change of the hour changes the result. */
  readonly state: (
    db: QueryRunner,
    systemId: string,
    span: LogHour,
  ) => Promise<{ readonly n: number; readonly recorded_at: Date | null }>;
  /** Returns a batch. @param last the last row of the previous batch; undefined: the first batch */
  readonly list: (db: QueryRunner, systemId: string, span: LogHour, last: Row | undefined) => Promise<readonly Row[]>;
}

/** Returns the content of an hour; undefined when it is not settled. */
async function settledHour<Row>(
  reads: AgencyReads,
  agency: Agency,
  hour: number,
  { since, ...statements }: HourReads<Row> & { readonly since: number },
): Promise<HourContent<Row> | undefined> {
  if (!isSettled(hour, { now: reads.clock(), since })) return undefined;
  return hourOf(reads, agency, hour, statements);
}

/** Returns the content of an hour, settled or not. */
async function hourOf<Row>(
  { filtered }: AgencyReads,
  { whose }: Agency,
  hour: number,
  { state, list }: HourReads<Row>,
): Promise<HourContent<Row>> {
  const span: LogHour = { day: dayOf(hour), from: new Date(hour), to: new Date(hour + HOUR_MS) };
  const { n, recorded_at: recordedAt } = await filtered.read(whose, (db) => state(db, whose.systemId, span));
  async function* batches() {
    let last: Row | undefined;
    for (;;) {
      const from = last;
      // Patient, because the answer has begun and would break off if this read were refused.
      const rows = await filtered.read({ ...whose, isPatient: true }, (db) => list(db, whose.systemId, span, from));
      if (rows.length > 0) yield rows;
      if (rows.length < BATCH_SIZE) return;
      last = rows.at(-1);
    }
  }
  return { version: `${n} ${recordedAt?.getTime() ?? 0}`, batches };
}

/** How far back `/events/recent` reads. */
const RECENT_MS = 14 * 24 * HOUR_MS;

/** The requested period of events, in milliseconds since 1970. */
export interface EventSpan {
  readonly from: number;
  readonly to: number;
}

/** The position of an event in the log, which is ordered by time and id: the next page begins after it. */
export interface LogPosition {
  readonly at: number;
  readonly id: string;
}

/**
 * Returns the events of a period after a position, and the position after which the next page begins; undefined: it is
 * the last page.
 * @throws ServiceError `invalid_parameter` when the period begins more than two weeks ago, or ends before it begins
 */
export async function recentEvents(
  { filtered, clock }: AgencyReads,
  { whose }: Agency,
  { from, to }: EventSpan,
  after: LogPosition | undefined,
): Promise<{ readonly rows: readonly EventRow[]; readonly next: LogPosition | undefined }> {
  if (from > to) throw serviceError("invalid_parameter", "timesReversed");
  const oldest = clock() - RECENT_MS;
  if (from < oldest) throw serviceError("invalid_parameter", "notRecent", { oldest });
  // Bounds the days that the statement reads.
  const end = Math.min(to, clock() + MAX_AHEAD_MS);
  if (from >= end) return { rows: [], next: undefined };
  const span = { from: new Date(from), to: new Date(end), firstDay: dayOf(from), lastDay: dayOf(end) };
  const position = { at: new Date(after?.at ?? from), id: after?.id ?? FIRST_ID };
  const rows = await filtered.read(whose, (db) => listRecentEvents(db, whose.systemId, span, position, PAGE_SIZE + 1));
  const page = rows.slice(0, PAGE_SIZE);
  const last = rows.length > PAGE_SIZE ? page.at(-1) : undefined;
  return { rows: page, next: last && { at: last.at.getTime(), id: last.id } };
}

/**
 * Records in the audit log that an agency read vehicles' movements.
 * @param keyId the id of the API key with which it read
 * @param what the endpoint, and the requested times
 */
export async function recordRead(
  context: Omit<ActorContext, "actor">,
  { whose: { systemId, partnerId } }: Agency,
  keyId: string,
  what: { readonly endpoint: string } & Readonly<Record<string, string>>,
): Promise<void> {
  const act = { systemId, action: "mds.read", subject: partnerId, detail: what };
  await insertActOf({ ...context, actor: `key:${keyId}` }, context.db, act);
}
