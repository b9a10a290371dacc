import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { openReadPool, type ReadPool } from "../../storage/db/read-pool.ts";
import { statement } from "../../storage/db/statement.ts";
import { readContextOn } from "../../storage/lists/read-context.ts";
import { createRowMemory } from "../../storage/lists/row-memory.ts";
import { createChangeWatch } from "../changes/service.ts";
import { listReservations, type ReservationFilters } from "./service.ts";

const NOON = Date.parse("2026-01-01T12:00:00Z");
const MINUTE_MS = 60_000;
let database: TestDatabase;
let readPool: ReadPool;

beforeAll(async () => {
  database = await createTestDatabase();
  readPool = openReadPool({ connectionString: database.db.connectionString, connections: 1 });
  // The active reservations end one after the other in the hour after noon. The sweeper has expired none of them.
  await database.db.query(
    statement(
      "",
      `insert into reservations (system_id, id, partner_id, status, bike_id, rider_ref, created_at, expires_at, cancelled_at, cancel_reason, ride_id, updated_at)
       select 'main', 'res ' || i, 'p' || i % 2, status, 'bike ' || case when status = 'active' then i else i % 3 end,
         'rider ' || case when status = 'active' then i else i % 4 end,
         at, at + interval '30 min', case when status = 'cancelled' then at end, case when status = 'cancelled' then 'partner' end,
         case when status = 'fulfilled' then 'ride ' || i end, at + interval '1 min' * (i % 3)
       from (select i, timestamptz '2026-01-01 11:30Z' + i / 2 * interval '1 min' as at,
               (array['active', 'fulfilled', 'cancelled', 'expired'])[1 + i / 2 % 4] as status from generate_series(0, 119) as i) as made`,
    ),
  );
});
afterAll(async () => {
  await readPool.close();
  await database.close();
});

const filters: fc.Arbitrary<ReservationFilters> = fc.record(
  {
    status: fc.constantFrom("active", "fulfilled", "cancelled", "expired"),
    rider_ref: fc.constantFrom("rider 1", "rider 8", "rider nobody"),
    bike_id: fc.constantFrom("bike 1", "bike 8"),
    updated_since: fc.nat(120).map((minutes) => new Date(NOON + (minutes - 30) * MINUTE_MS).toISOString()),
  },
  { requiredKeys: [] },
);

it("what is remembered gives what the database gives at any moment, whatever the clock has ended since", async () => {
  const memory = createRowMemory({ db: database.db, readPool, follow: createChangeWatch(readPool), maxWaitMs: 60_000 });
  let remembered = 0;
  const rowMemory: typeof memory = {
    page: async (...asked) => {
      const page = await memory.page(...asked);
      if (page !== undefined) remembered++;
      return page;
    },
  };
  const requests = fc.oneof(
    fc.record({ kind: fc.constant("page" as const), page: fc.constantFrom(1, 2), limit: fc.constantFrom(7, 50) }),
    fc.nat(60).map((minutes) => ({
      kind: "cursor" as const,
      after: { at: new Date(NOON + (minutes - 30) * MINUTE_MS).toISOString(), id: `res ${minutes * 2}` },
      limit: 7,
    })),
  );
  await fc.assert(
    fc.asyncProperty(filters, requests, fc.nat(90), async (given, request, minutes) => {
      const context = { ...readContextOn(database.db), clock: () => NOON + minutes * MINUTE_MS };
      const whose = { systemId: "main", partnerId: "p0" };
      const counted = await listReservations(context, whose, given, request);
      expect(await listReservations({ ...context, rowMemory }, whose, given, request)).toEqual(counted);
    }),
    { seed: 1, numRuns: 300 },
  );
  expect(remembered).toBeGreaterThan(100);
});
