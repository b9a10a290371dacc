import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodesOf, type PlanNode, rowsSeenBy } from "../../../test/plan-nodes.ts";
import { type EndpointsHarness, openEndpointsHarness } from "../../../test/webhooks/endpoints.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { dailyTables, dayOf } from "../../storage/partitions/partition.rules.ts";
import { createPartitions } from "../../storage/partitions/service.ts";
import { addEndpoint } from "../endpoints/endpoint-settings.ts";
import { listDeliveries, searchOf } from "./deliveries.ts";
import { codeRange, type DeliveryFilter, readCodeFilter, type SearchIndex } from "./delivery-filter.rules.ts";
import { findPageStatement, findSearchIndex, updateSearchSettings } from "./delivery-queries.ts";
import { MAX_SEARCHED_ROWS } from "./search-sql-fragments.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

let harness: EndpointsHarness;
let endpointId: string;
let start: number;
beforeAll(async () => {
  harness = await openEndpointsHarness();
  endpointId = (await harness.endpoint()).endpoint.id;
  start = harness.clock();
  const days = dailyTables.filter(({ name }) => name === "webhook_deliveries");
  for (const day of [0, 2])
    for (const table of days) await createPartitions(harness.db, table, dayOf(start + day * DAY_MS));
});
afterAll(() => harness.close());

interface Row {
  readonly id: string;
  readonly created_at: Date;
  readonly event: string;
  readonly resource_id: string | null;
  readonly status: "pending" | "succeeded" | "failed" | "held";
  readonly latest_code: number | null;
  readonly latest_failure: string | null;
}

const events = ["ride.started", "ride.completed", "station.offline"] as const;
const resources = ["ride_1", "ride_2", "station-1", null] as const;
/** How a latest attempt can have ended, with the statuses that its delivery can have then. */
const ends = fc.oneof(
  fc.record({
    latest_code: fc.constantFrom(200, 204),
    latest_failure: fc.constant(null),
    status: fc.constantFrom("succeeded", "pending"),
  }),
  fc.record({
    latest_code: fc.constantFrom(500, 503),
    latest_failure: fc.constant("http_5xx"),
    status: fc.constantFrom("pending", "failed", "held"),
  }),
  fc.record({
    latest_code: fc.constantFrom(404, 410),
    latest_failure: fc.constant("http_4xx"),
    status: fc.constantFrom("pending", "failed"),
  }),
  fc.record({
    latest_code: fc.constant(null),
    latest_failure: fc.constantFrom("dns", "timeout", "unknown"),
    status: fc.constantFrom("pending", "failed", "held"),
  }),
  fc.record({
    latest_code: fc.constant(null),
    latest_failure: fc.constant(null),
    status: fc.constantFrom("pending", "held"),
  }),
) satisfies fc.Arbitrary<Pick<Row, "latest_code" | "latest_failure" | "status">>;

const rows: fc.Arbitrary<Row[]> = fc
  .array(
    fc.tuple(
      ends,
      fc.constantFrom(...events),
      fc.constantFrom(...resources),
      // Few different times, so that many are created in one millisecond.
      fc.integer({ min: 0, max: 20 }),
    ),
    { minLength: 30, maxLength: 80 },
  )
  .map((made) =>
    made.map(([end, event, resource_id, hours], index) => ({
      ...end,
      id: `delivery_${String((index * 37) % 101).padStart(3, "0")}`,
      event,
      resource_id,
      created_at: new Date(start + hours * 4 * HOUR_MS),
    })),
  );

const filters: fc.Arbitrary<DeliveryFilter> = fc.record(
  {
    status: fc.constantFrom("pending", "succeeded", "failed", "held", "failing", "unsuccessful"),
    event: fc.constantFrom(...events, "bike.state_changed"),
    resourceId: fc.constantFrom("ride_1", "ride_2", "station-1", "ride_3"),
    code: fc.constantFrom("200", "503", "410", "4xx", "5xx", "2xx", "302").map((text) => readCodeFilter(text)),
    failure: fc.constantFrom("dns", "timeout", "http_5xx", "reset"),
    since: fc.integer({ min: -1, max: 20 }).map((hours) => new Date(start + hours * 4 * HOUR_MS)),
    until: fc.integer({ min: 21, max: 25 }).map((hours) => new Date(start + hours * 4 * HOUR_MS)),
  },
  { requiredKeys: [] },
);

/** Says whether a filter finds a row: the rule of the search, written in TypeScript. */
function isFound(row: Row, filter: DeliveryFilter): boolean {
  const { status, event, resourceId, code, failure, since, until } = filter;
  if (status === "failing" && !(row.status === "pending" && row.latest_failure !== null)) return false;
  if (status === "unsuccessful" && (row.status === "held" || row.latest_failure === null)) return false;
  if (status !== undefined && status !== "failing" && status !== "unsuccessful" && row.status !== status) return false;
  if (event !== undefined && row.event !== event) return false;
  if (resourceId !== undefined && row.resource_id !== resourceId) return false;
  if (failure !== undefined && row.latest_failure !== failure) return false;
  if (since !== undefined && row.created_at < since) return false;
  if (until !== undefined && row.created_at >= until) return false;
  if (code === undefined) return true;
  const [lowest, highest] = codeRange(code);
  return row.latest_code !== null && row.latest_code >= lowest && row.latest_code <= highest;
}

async function write(of: string, written: readonly Row[]): Promise<void> {
  const values = ["id", "event", "resource_id", "created_at", "status", "latest_code", "latest_failure"] as const;
  await harness.rows(
    `with new as (
       insert into webhook_deliveries
         (system_id, endpoint_id, created_on, event_id, id, event, resource_id, created_at, status, latest_code, latest_failure)
       select $1, $2, created_at::date, 'event_' || id, * from
         unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $8::smallint[], $9::text[])
           as row (id, event, resource_id, created_at, status, latest_code, latest_failure)
       returning id, created_on, event_id, status)
     insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
     select $1, id, $2, created_on, event_id, now() from new where status = 'pending'`,
    of,
    ...values.map((name) => written.map((row) => row[name])),
  );
}

async function clear(): Promise<void> {
  await harness.rows("delete from webhook_deliveries where system_id = $1");
  await harness.rows("delete from webhook_queue where system_id = $1");
}

const scope = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });
const later = () => ({ db: harness.db, clock: () => start + 10 * DAY_MS });

/** Reads every page, with `limit` deliveries each. */
async function walk(
  filter: DeliveryFilter,
  limit: number,
  partnerId = harness.partnerId,
  between = (): Promise<void> => Promise.resolve(),
): Promise<string[]> {
  const ids: string[] = [];
  for (let after: Awaited<ReturnType<typeof listDeliveries>>["next"] | undefined; after !== null;) {
    const page = await listDeliveries(later(), { ...scope(), partnerId, ...filter, limit, after });
    ids.push(...page.deliveries.map(({ id }) => id));
    after = page.next;
    await between();
  }
  return ids;
}

const newestFirst = (all: readonly Row[]) =>
  all.toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? 1 : -1));

describe("a search in the delivery log", () => {
  it("gives on all its pages together what the filter means, newest first, whatever filters come together", async () => {
    const other = await harness.partner("Other");
    const { endpoint } = await harness.endpoint(other);
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(filters, { minLength: 5, maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        async (all, asked, limit) => {
          await clear();
          await write(endpointId, all);
          // Writes the same rows, with other ids, for an endpoint of another partner.
          await write(
            endpoint.id,
            all.map((row) => ({ ...row, id: `${row.id}_other` })),
          );
          for (const filter of asked) {
            const expected = newestFirst(all.filter((row) => isFound(row, filter)));
            expect(await walk(filter, limit)).toEqual(expected.map(({ id }) => id));
          }
          expect(await walk({}, 50, other)).toHaveLength(all.length);
        },
      ),
      { numRuns: randomRuns(10) },
    );
  });

  it("goes on behind the page before, whatever is created, sent and given up meanwhile", async () => {
    await clear();
    const row = (n: number, hours: number): Row => ({
      ...{
        id: `delivery_${n}`,
        event: "ride.started",
        resource_id: null,
        created_at: new Date(start + hours * HOUR_MS),
      },
      ...{ status: "failed", latest_code: 500, latest_failure: "http_5xx" },
    });
    await write(
      endpointId,
      [1, 2, 3, 4].map((n) => row(n, n)),
    );
    const first = await listDeliveries(later(), { ...scope(), failure: "http_5xx", limit: 2 });
    expect(first.deliveries.map(({ id }) => id)).toEqual(["delivery_4", "delivery_3"]);
    await write(endpointId, [row(5, 30)]);
    // The last delivery of the previous page no longer matches the filter. The cursor keeps its position.
    await harness.rows(
      "update webhook_deliveries set status = 'succeeded', latest_code = 200, latest_failure = null where system_id = $1 and id = 'delivery_3'",
    );
    const next = await listDeliveries(later(), { ...scope(), failure: "http_5xx", limit: 2, after: first.next ?? "" });
    expect(next.deliveries.map(({ id }) => id)).toEqual(["delivery_2", "delivery_1"]);
    expect(next.next).toBeNull();
  });
});

describe("the deliveries of several endpoints", () => {
  let several: string;
  const endpoints: string[] = [];
  beforeAll(async () => {
    several = await harness.partner("Several");
    endpoints.push((await harness.endpoint(several)).endpoint.id);
    for (const name of ["Second", "Third"]) {
      const added = { name, url: `https://${name}.example/`, events: ["ride.started"] };
      const { endpoint } = await addEndpoint(harness, { systemId: harness.systemId, partnerId: several, ...added });
      endpoints.push(endpoint.id);
    }
  });

  it("are one list, newest first: none is lost or listed twice while others are created", async () => {
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.array(fc.nat(2), { minLength: 80, maxLength: 80 }),
        filters,
        fc.integer({ min: 1, max: 9 }),
        async (all, owners, filter, limit) => {
          await clear();
          for (const [n, id] of endpoints.entries())
            await write(
              id,
              all.filter((_, index) => owners[index] === n),
            );
          let created = 0;
          const create = async () => {
            created += 1;
            const newer = { ...(all[0] as Row), id: `new_${created}`, created_at: new Date(start + 90 * HOUR_MS) };
            await write(endpoints[created % 3] ?? "", created <= 6 ? [newer] : []);
          };
          const walked = await walk(filter, limit, several, create);
          // Deliveries created during the walk may be missed: they did not exist when the reader passed their position.
          const before = walked.filter((id) => !id.startsWith("new_"));
          expect(before).toEqual(newestFirst(all.filter((row) => isFound(row, filter))).map(({ id }) => id));
          expect(new Set(walked).size).toBe(walked.length);
        },
      ),
      { numRuns: randomRuns(10) },
    );
  });

  it("are read within the bound of one endpoint's, and go on where the first has read its share", async () => {
    await fill(26_000, endpoints);
    const none: DeliveryFilter = { code: { exact: 202 } };
    const plan = await explain(none, endpoints);
    expect(plan.rowsRead).toBeLessThanOrEqual(MAX_SEARCHED_ROWS + 15);
    // One row more than a page for each endpoint, and one row of each partition at the start.
    expect((await explain({}, endpoints)).rowsRead).toBeLessThanOrEqual(3 * (51 + 5));
    expect((await explain({ status: "held" }, endpoints)).scans).toEqual(new Set(["webhook_deliveries_problem"]));
    await harness.rows(
      "update webhook_deliveries set latest_code = 202 where system_id = $1 and id in ('delivery_00000005', 'delivery_00012000')",
    );
    expect(await walk(none, 50, several)).toEqual(["delivery_00012000", "delivery_00000005"]);
  });
});

/** Writes `n` rows of the log, which belong to the endpoints in turn. */
async function fill(n: number, of = [endpointId]): Promise<void> {
  await clear();
  await harness.rows(
    `insert into webhook_deliveries
       (system_id, endpoint_id, created_on, event_id, id, event, resource_id, created_at, status, attempts, latest_code, latest_failure)
     select $1, ($2::text[])[1 + i % cardinality($2::text[])], created_at::date, 'event_' || i,
       'delivery_' || lpad(i::text, 8, '0'), case when i % 1000 = 0 then 'station.offline' else 'ride.started' end, 'ride_' || i % 5000, created_at,
       case when i % 100 = 1 then 'failed' when i % 100 = 2 then 'held' when i % 100 = 3 then 'pending' else 'succeeded' end, 1,
       case when i % 100 in (1, 3) then 500 when i % 100 = 2 then null else 200 end,
       case when i % 100 in (1, 3) then 'http_5xx' when i % 100 = 2 then 'dns' end
     from (select i, $3::timestamptz + i * interval '8 s' as created_at from generate_series(1, $4::int) as i) as made`,
    of,
    new Date(start),
    n,
  );
  await harness.rows(
    `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
     select $1, id, endpoint_id, created_on, event_id, now() from webhook_deliveries where system_id = $1 and status = 'pending'`,
  );
  await harness.db.query(statement("", "vacuum (analyze) webhook_deliveries, webhook_queue"));
}

/** Returns how PostgreSQL finds a page: the indexes of deliveries that it uses, and how many of their rows it reads. */
async function explain(filter: DeliveryFilter, endpointIds = [endpointId]) {
  const search = { ...searchOf(later(), { systemId: harness.systemId, filter }), endpointIds };
  const index = await findSearchIndex(harness.db, search);
  const [row] = await harness.db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    const { page, values } = findPageStatement(index, search, 51);
    return tx.query<{ "QUERY PLAN": readonly { readonly Plan: PlanNode }[] }>(
      statement("", `explain (analyze, format json) ${page.text}`),
      values,
    );
  });
  const nodes = (row?.["QUERY PLAN"] ?? []).flatMap(({ Plan: plan }) => nodesOf(plan));
  // Leaves out empty partitions, whose plan does not matter.
  const scans = nodes.filter(
    (node) => node["Relation Name"]?.startsWith("webhook_deliveries") === true && rowsSeenBy(node) > 0,
  );
  const definitions = await harness.db.query<{ name: string; parent: string }>(
    statement(
      "",
      `select child.relname::text as name, parent.relname::text as parent
       from pg_inherits join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
       where child.relkind = 'i'`,
    ),
  );
  const parents = new Map(definitions.map(({ name, parent }) => [name, parent]));
  return {
    index,
    scans: new Set(scans.map((scan) => parents.get(scan["Index Name"] ?? "") ?? scan["Node Type"])),
    rowsRead: scans.reduce((sum, scan) => sum + rowsSeenBy(scan), 0),
  };
}

describe("a search in a long log", { shuffle: false }, () => {
  const LONG = 26_000;
  beforeAll(() => fill(LONG));

  it.each<[SearchIndex, string, DeliveryFilter]>([
    ["endpoint", "webhook_deliveries_endpoint", {}],
    ["event", "webhook_deliveries_event", { event: "station.offline" }],
    ["resource", "webhook_deliveries_resource", { resourceId: "ride_7" }],
    ["failure", "webhook_deliveries_failure", { failure: "dns" }],
    ["failure", "webhook_deliveries_failure", { code: { firstDigit: 5 } }],
    ["code", "webhook_deliveries_code", { code: { exact: 500 } }],
    ["problem", "webhook_deliveries_problem", { status: "failing" }],
    ["problem", "webhook_deliveries_problem", { status: "held", event: "ride.started" }],
    ["problems", "webhook_deliveries_unsuccessful", { status: "unsuccessful" }],
    ["queue", "webhook_deliveries_pkey", { status: "pending" }],
  ])("walks the index of its filter: %s, %s", async (index, name, filter) => {
    const plan = await explain(filter);
    expect(plan).toMatchObject({ index, scans: new Set([name]) });
    // One row more than a page, and at most one row of each partition at the start. A search in the queue reads the whole
    // queue.
    expect(plan.rowsRead).toBeLessThanOrEqual(index === "queue" ? LONG / 100 : 51 + 5);
  });

  it("that finds nothing stops after a bounded number of rows, says how far it came, and goes on from there", async () => {
    const none: DeliveryFilter = { code: { exact: 202 } };
    expect((await explain(none)).rowsRead).toBeLessThanOrEqual(MAX_SEARCHED_ROWS + 5);
    const searched: (Date | null)[] = [];
    for (let after: Awaited<ReturnType<typeof listDeliveries>>["next"] | undefined; after !== null;) {
      const page = await listDeliveries(later(), { ...scope(), ...none, after });
      expect(page.deliveries).toEqual([]);
      searched.push(page.searchedTo);
      after = page.next;
    }
    const rowAt = (n: number) => new Date(start + n * 8_000);
    expect(searched).toEqual([rowAt(LONG - MAX_SEARCHED_ROWS + 1), rowAt(LONG - 2 * MAX_SEARCHED_ROWS + 1), null]);
  });

  it("finds what lies beyond the first rows that are searched", async () => {
    await harness.rows(
      "update webhook_deliveries set latest_code = 202 where system_id = $1 and id in ('delivery_00000005', 'delivery_00012000')",
    );
    expect(await walk({ code: { exact: 202 } }, 50)).toEqual(["delivery_00012000", "delivery_00000005"]);
    expect(await walk({ status: "succeeded", code: { exact: 202 } }, 1)).toHaveLength(2);
  });

  it("that looks for what is pending reads no more when the queue is long", async () => {
    await harness.rows(
      `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
       select $1, 'waiting_' || i, $2, now()::date, 'x', now() from generate_series(1, 5000) as i`,
      endpointId,
    );
    const plan = await explain({ status: "pending" });
    expect(plan).toMatchObject({ index: "endpoint", scans: new Set(["webhook_deliveries_endpoint"]) });
    expect(plan.rowsRead).toBeLessThanOrEqual(51 * 100 + 5);
  });
});
