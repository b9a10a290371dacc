import { consoleContract, type ImportDetail, type ShownImport } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { buildAnother } from "../../test/built-app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { examples, openTripImportHarness, type TripImportHarness } from "../../test/trips/trip-import.harness.ts";
import { createRunningUndos, undoImport } from "../feeds/imports/undo.ts";
import { listActs } from "../partners/audit/queries.ts";
import { statement } from "../storage/db/statement.ts";

let app: TestApp;
let admin: SignedIn;
let trips: TripImportHarness;
let first: string;
let second: string;

const { imports } = consoleContract;
const HEADER = examples.lyft.split("\n")[0] ?? "";
const endBeforeStart = (n: number) =>
  `BAD${n},classic_bike,2021-02-03 10:00:00,2021-02-03 09:00:00,First,JC1,Second,JC2,40.7,-74.0,40.7,-74.0,member`;

// Imports the same rides twice: the first import has three rides and three bad rows, the second finds all three rides again.
beforeAll(async () => {
  app = await startTestApp();
  admin = await signIn(app, { partnerId: null });
  trips = await openTripImportHarness(app);
  const bad = [HEADER, ...[1, 2, 3].map(endBeforeStart)].join("\n");
  const files = [await trips.write("good.csv", examples.lyft), await trips.write("bad.csv", bad)];
  first = (await trips.import(files, { ids: app.ids, clock: app.clock, actor: admin.actor })).id ?? "";
  app.clock.advance(1_000);
  second = (await trips.import(files.slice(0, 1), { ids: app.ids, clock: app.clock })).id ?? "";
});
afterAll(async () => {
  await trips.close();
  await app.close();
});

const base = () => `/console/v1/systems/${app.systemId}/imports`;

async function read(path: string): Promise<unknown> {
  const response = await admin.call("GET", base() + path);
  expect(response.status, path).toBe(200);
  return response.json();
}

const detail = async (id: string): Promise<ImportDetail> => imports.get.responses[200].parse(await read(`/${id}`));

async function undo(id: string, who = admin): Promise<[number, unknown]> {
  const response = await who.call("POST", `${base()}/${id}/undo`, {});
  return [response.status, await response.json()];
}

const statusOf = async (id: string): Promise<ShownImport["status"]> => (await detail(id)).import.status;

it("imports are listed page by page, the newest first", async () => {
  const page = imports.list.responses[200].parse(await read("?limit=1"));
  expect(page.data).toMatchObject([{ id: second, kind: "trips", created: 0, unchanged: 3 }]);
  const next = imports.list.responses[200].parse(await read(`?limit=1&cursor=${page.next_cursor ?? ""}`));
  expect(next).toMatchObject({ data: [{ id: first, created: 3, rejected: 3, stations_created: 2, status: "done" }] });
  expect(next).not.toHaveProperty("next_cursor");
});

it("an import says who made it, from what, and what was wrong", async () => {
  const { from, time_zone: zone, acts, obstacle, report } = await detail(first);
  expect(from.map((file) => file.split("/").at(-1))).toEqual(["good.csv", "bad.csv"]);
  expect(zone).toBe("America/New_York");
  expect(acts).toMatchObject([{ action: "import.trips", actor: admin.actor, actor_name: admin.personId }]);
  expect(obstacle).toMatch(new RegExp(`cannot be undone before ${second}`));
  expect(report).toMatchObject({ entries: 6, kept: 6, reasons: [{ reason: "end_before_start", count: 3 }, {}, {}] });
  const bad = await read(`/${first}/report?reason=end_before_start&limit=2`);
  const page = imports.report.responses[200].parse(bad);
  expect(page.data).toMatchObject([
    { part: expect.stringMatching(/bad\.csv$/) as string, record: "2", field: "ended_at", outcome: "rejected" },
    { record: "3", value: "2021-02-03 09:00:00" },
  ]);
  const rest = await read(`/${first}/report?reason=end_before_start&limit=2&cursor=${page.next_cursor ?? ""}`);
  expect(imports.report.responses[200].parse(rest)).toMatchObject({ data: [{ record: "4" }] });
  const all = imports.report.responses[200].parse(await read(`/${first}/report`));
  expect(all.data.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  expect((await detail(second)).report).toMatchObject({ entries: 1 });
});

it("what stands on an import keeps it; without that it is undone, with progress, by admins alone", async () => {
  const viewer = await signIn(app, { partnerId: null, role: "viewer" });
  expect((await undo(second, viewer))[0]).toBe(403);
  expect(await undo(first)).toMatchObject([409, { error: "conflict" }]);
  expect(await undo("import_none")).toMatchObject([404, { message: "There is no import import_none." }]);
  for (const id of [second, first]) {
    expect(await undo(id)).toMatchObject([200, { is_decided: true, import: { id } }]);
    await expect.poll(() => statusOf(id), { interval: 20 }).toBe("undone");
  }
  const { import: undone, acts, obstacle } = await detail(first);
  expect(undone).toMatchObject({ removed: 3, undone_at: new Date(app.clock()).toISOString() });
  expect(acts.map(({ action, actor }) => [action, actor])).toEqual([
    ["import.undone", admin.actor],
    ["import.trips", admin.actor],
  ]);
  expect(obstacle).toMatch(/was already undone/);
  expect(await trips.rides()).toEqual([]);
  expect(await read("/../rides")).toMatchObject({ total: 0, data: [] });
  // The first undo may still vacuum. Until it ends, a second undo joins it instead of answering 409.
  await expect.poll(async () => (await undo(first))[0], { interval: 20 }).toBe(409);
});

it("an undo that is refused when nobody waits any more is written to the audit log", async () => {
  const file = await trips.write("late.csv", examples.citiBike);
  const { id } = await trips.import([file], { ids: app.ids, clock: app.clock });
  const logger = { warn: (_: object, message: string) => expect.unreachable(message) };
  const undos = createRunningUndos({ ...app, logger, decisionTimeoutMs: 0 });
  const change = statement("", "update rides set distance_meters = 1, updated_at = now() where import_id = $1");
  await app.db.query(change, [id]);
  expect(await undos.start("person:late", app.systemId, id ?? "")).toBe(false);
  await undos.close();
  const [act] = await listActs(app.db, app.systemId, { subject: id ?? "", limit: 1 });
  expect(act).toMatchObject({
    action: "import.undo_refused",
    actor: "person:late",
    detail: { reason: expect.stringMatching(/2 of its 2 rides were changed since/) as string },
  });
});

it("an undo that ended with its process goes on when the service starts", async () => {
  const file = await trips.write("cut-off.csv", examples.lyft);
  const { id } = await trips.import([file], { ids: app.ids, clock: app.clock });
  const onProgress = () => {
    throw new Error("killed");
  };
  const undoing = undoImport({ ...app, actor: "cli:test", onProgress, batchRows: 1 }, app.systemId, id ?? "");
  await expect(undoing).rejects.toThrow("killed");
  expect(await statusOf(id ?? "")).toBe("undoing");
  const another = await buildAnother(app, {});
  await expect.poll(() => statusOf(id ?? ""), { interval: 20 }).toBe("undone");
  await another.close();
});
