import type { Bike, Reservation, ReservationRequest, Station } from "@bikeshare/contract";
import { reservation } from "@bikeshare/contract";
import { type PageRequest, ServiceError } from "@bikeshare/rules";
import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import { createReservation } from "../../src/city/fleet/create-reservation.ts";
import { cancelReservation, extendReservation } from "../../src/city/fleet/reservation-commands.ts";
import { getReservation, listReservations, type ReservationFilters } from "../../src/city/reservations/service.ts";
import type { Ids } from "../../src/ids.ts";
import type { Database } from "../../src/storage/db/database.ts";
import { openReadPool, type ReadPool } from "../../src/storage/db/read-pool.ts";
import { oneRow } from "../../src/storage/db/rows.ts";
import { statement } from "../../src/storage/db/statement.ts";
import type { TimePosition } from "../../src/storage/lists/page.ts";
import type { FilteredReads } from "../../src/storage/lists/read-context.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { filteredReadsOn } from "../filtered-reads.ts";
import { addPartners } from "../partners.ts";
import { bikeRow, stationRow } from "../rows.ts";

/** The partner that acts if a test names none. */
export const partner = "partner-1";

/** All partners. Requests of one partner wait for each other, so tests of races send them from several partners. */
export const partners: readonly string[] = Array.from({ length: 8 }, (_, n) => `partner-${n + 1}`);

/** A database with stations and bikes, with functions that call the reservation commands as a partner does. */
export interface ReservationsHarness extends TestDatabase {
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly readPool: ReadPool;
  readonly filtered: FilteredReads;
  /** The context for functions that change the system. */
  readonly live: { readonly db: Database; readonly clock: TestClock; readonly ids: Ids };
  /** Creates a station with operated (or mirrored) counters, and bikes at it. */
  fill(
    stationId: string,
    bikes: readonly (Partial<Bike> & { readonly id: string })[],
    station?: StationFields,
  ): Promise<void>;
  create(request: ReservationRequest, partnerId?: string): Promise<Reservation>;
  extend(id: string, minutes: number, partnerId?: string): Promise<Reservation>;
  cancel(id: string, partnerId?: string): Promise<Reservation>;
  get(id: string, partnerId?: string): Promise<Reservation | undefined>;
  list(filters?: ReservationFilters, request?: PageRequest<TimePosition>, partnerId?: string): Promise<Page>;
  bike(id: string): Promise<BikeState>;
  /** Reads the counters of a station. */
  counters(stationId: string): Promise<Counters>;
  /** Reads every event in the outbox, sorted by id. */
  events(): Promise<readonly OutboxEvent[]>;
}

type StationFields = Partial<Station> & { readonly counters?: "mirrored" | "operated" };

interface Page {
  readonly data: readonly Reservation[];
  readonly next: TimePosition | undefined;
  readonly total: number | undefined;
}

interface BikeState extends Pick<Bike, "vehicle_state" | "station_id"> {
  readonly reservation_id: string | null;
}

type Counters = Pick<Station, "num_bikes_available" | "num_bikes_reserved" | "vehicle_types_available">;

interface OutboxEvent {
  readonly name: string;
  readonly occurred_at: Date;
  readonly partner_id: string | null;
  readonly data: Reservation;
}

const bikeState = statement(
  "test.bikeState",
  "select vehicle_state, station_id, reservation_id from bikes where system_id = $1 and id = $2",
);
const counters = statement(
  "test.counters",
  "select num_bikes_available, num_bikes_reserved, vehicle_types_available from stations where system_id = $1 and id = $2",
);
const outbox = statement(
  "test.outbox",
  "select name, occurred_at, partner_id, data::json as data from event_outbox where system_id = $1 order by id",
);

export async function openReservationsHarness(): Promise<ReservationsHarness> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const clock = createTestClock();
  const ids = createTestIds();
  const readPool = openReadPool({ connectionString: db.connectionString });
  const live = { db, clock, ids };
  const filtered = filteredReadsOn(db);
  const read = { ...live, filtered, readPool };
  await addPartners(db, systemId, partners);
  const ownerOf = (partnerId: string) => ({ systemId, partnerId });
  return {
    ...database,
    clock,
    ids,
    readPool,
    filtered,
    live,
    fill: (stationId, bikes, station = {}) => fillStation(database, stationId, bikes, station),
    create: async (request, partnerId = partner) =>
      parsed(await createReservation(live, { ...ownerOf(partnerId), request })),
    extend: async (id, minutes, partnerId = partner) =>
      parsed(await extendReservation(live, ownerOf(partnerId), id, minutes)),
    cancel: async (id, partnerId = partner) => parsed(await cancelReservation(live, ownerOf(partnerId), id)),
    get: async (id, partnerId = partner) => {
      const json = await getReservation(read, ownerOf(partnerId), id);
      return json === undefined ? undefined : parsed(json);
    },
    list: async (filters = {}, request = { kind: "first", limit: 50 }, partnerId = partner) => {
      const { items, next, total } = await listReservations(read, ownerOf(partnerId), filters, request);
      return { data: reservation.array().parse(JSON.parse(`[${items}]`)), next, total };
    },
    bike: async (id) => oneRow(await db.query<BikeState>(bikeState, [systemId, id])),
    counters: async (stationId) => oneRow(await db.query<Counters>(counters, [systemId, stationId])),
    events: () => db.query<OutboxEvent>(outbox, [systemId]),
    close: async () => {
      await readPool.close();
      await database.close();
    },
  };
}

/** Parses the JSON that a command returns, and expects it to match the contract. */
function parsed(json: string): Reservation {
  return reservation.parse(JSON.parse(json));
}

async function fillStation(
  { db, systemId }: TestDatabase,
  stationId: string,
  bikes: readonly (Partial<Bike> & { readonly id: string })[],
  { counters: mode = "operated", ...fields }: StationFields,
): Promise<void> {
  const station = stationRow({
    id: stationId,
    num_bikes_available: bikes.length,
    vehicle_types_available: [{ vehicle_type_id: "classic", count: bikes.length }],
    ...fields,
  });
  // Uses the time of the test's clock, not of the database's.
  const times = { known_since: station.updated_at };
  const kept = { system_id: systemId, source: "test", absent_snapshots: 0, was_installed: true, ...times };
  const columns = Object.keys({ ...station, ...kept, counters: mode }).join(", ");
  await db.query(
    statement("", `insert into stations (${columns}) select ${columns} from json_populate_record(null::stations, $1)`),
    [JSON.stringify({ ...station, ...kept, counters: mode })],
  );
  await insertBikes(
    { db, systemId },
    bikes.map((bike) => bikeRow({ station_id: stationId, ...bike })),
  );
}

/** Inserts bikes whose reported state equals their shown state. */
export async function insertBikes(
  { db, systemId }: Pick<TestDatabase, "db" | "systemId">,
  bikes: readonly Bike[],
): Promise<void> {
  const [first] = bikes;
  if (first === undefined) return;
  const columns = Object.keys(first).join(", ");
  await db.query(
    statement(
      "",
      `insert into bikes (system_id, source, ${columns})
       select $1, 'test', ${columns} from json_populate_recordset(null::bikes, $2)`,
    ),
    [systemId, JSON.stringify(bikes)],
  );
}

/** Returns the code of a ServiceError. Throws any other error again. */
function errorCode(reason: unknown): string {
  if (reason instanceof ServiceError) return reason.code;
  throw reason;
}

/** Returns `made`, or the code with which a command was refused. */
export function outcomeOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(() => "made", errorCode);
}
