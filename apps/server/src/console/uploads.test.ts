import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { consoleContract, MAX_UPLOAD_BYTES, type ShownUpload } from "@bikeshare/contract/console";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { examples, openTripImportHarness, type TripImportHarness } from "../../test/trips/trip-import.harness.ts";
import { beginImport } from "../feeds/imports/service.ts";
import { undoImport } from "../feeds/imports/undo.ts";
import { startUploadWork, type UploadWorkOptions } from "../feeds/uploads/work.ts";
import type { PeriodicWork } from "../storage/background/periodic.ts";
import { statement } from "../storage/db/statement.ts";

const { uploads } = consoleContract;
const CSV = Buffer.from(examples.lyft);
const [HEADER = "", RIDE = ""] = examples.lyft.split("\n");

let app: TestApp;
let admin: SignedIn;
let trips: TripImportHarness;
let directory: string;
let works: PeriodicWork[] = [];
const errors: unknown[] = [];
beforeAll(async () => {
  app = await startTestApp();
  admin = await signIn(app, { partnerId: null });
  trips = await openTripImportHarness(app);
  directory = await mkdtemp(join(tmpdir(), "bikeshare-uploads-"));
});
// Requests are counted by session, and rides of 2021 lie in the past.
beforeEach(() => app.clock.advance(61_000));
afterEach(async () => {
  for (const work of works) await work.close();
  works = [];
  const present = await newest();
  if (present !== null) await post(`/${present.id}/discard`, {});
  const rest = statement("test.uploads.parts", "select count(*)::int as n from trip_upload_parts");
  expect(await app.db.query(rest)).toEqual([{ n: 0 }]);
  // No test may leave a file of an upload on the disk.
  expect(await readdir(join(directory, "spool")).catch(() => [])).toEqual([]);
  expect(errors.splice(0)).toEqual([]);
});
afterAll(async () => {
  await trips.close();
  await app.close();
  await rm(directory, { recursive: true });
});

const base = () => `/console/v1/systems/${app.systemId}/uploads`;

async function post(path: string, body: unknown, who = admin): Promise<[number, Record<string, unknown>]> {
  const response = await who.call("POST", base() + path, body);
  return [response.status, (await response.json()) as Record<string, unknown>];
}

async function newest(): Promise<ShownUpload | null> {
  const response = await admin.call("GET", base());
  expect(response.status).toBe(200);
  return uploads.get.responses[200].parse(await response.json()).upload;
}

async function begin(changes: object = {}, who = admin): Promise<string> {
  const body = {
    file_name: "rides.csv",
    size: CSV.length,
    is_packed: false,
    time_zone: "America/New_York",
    ...changes,
  };
  const [status, upload] = await post("", body, who);
  expect(status, JSON.stringify(upload)).toBe(200);
  return String(upload["id"]);
}

async function send(
  id: string,
  bytes: Uint8Array,
  { start = 0, isLast = true, who = admin } = {},
): Promise<[number, Record<string, unknown>]> {
  const response = await fetch(`${app.url}${base()}/${id}/parts?start=${start}&is_last=${String(isLast)}`, {
    method: "POST",
    headers: { ...who.headers, "content-type": "application/octet-stream" },
    body: bytes,
  });
  return [response.status, (await response.json()) as Record<string, unknown>];
}

/** Starts the work of a process that tries and imports uploaded files. */
function worker(options: Partial<UploadWorkOptions> = {}): PeriodicWork {
  const work = startUploadWork({
    ...{ db: app.db, clock: app.clock, ids: app.ids, systems: () => Promise.resolve([app.systemId]) },
    ...{ spoolDirectory: join(directory, "spool"), reportsDirectory: join(directory, "reports") },
    onError: (error) => void errors.push(error),
    ...options,
  });
  works.push(work);
  return work;
}

/** Uploads a whole file and waits until it has been tried. */
async function tried(bytes: Uint8Array, changes: object = {}): Promise<ShownUpload | null> {
  const id = await begin(changes);
  expect((await send(id, bytes))[0]).toBe(200);
  const work = worker();
  await work.runOnce();
  // Otherwise this work would look for files every 2 s and take those that the test gives to another worker.
  await work.close();
  return newest();
}

const storedRides = async () => (await trips.rides()).map(({ id }) => id);

it("a file is sent in parts, tried, imported and undone, and every step is recorded", async () => {
  const bytes = gzipSync(CSV);
  const id = await begin();
  expect(await send(id, bytes.subarray(0, 100), { isLast: false })).toMatchObject([200, { bytes: 100 }]);
  // A client whose response was lost sends the same part again, which changes nothing. A part that leaves a gap is refused.
  expect(await send(id, bytes.subarray(0, 100), { isLast: false })).toMatchObject([200, { bytes: 100 }]);
  expect(await send(id, bytes, { start: 200 })).toMatchObject([409, { error: "conflict" }]);
  expect(await post(`/${id}/start`, {})).toMatchObject([409, { error: "conflict" }]);
  expect(await send(id, bytes.subarray(100), { start: 100 })).toMatchObject([200, { state: "waiting" }]);
  expect(await send(id, bytes.subarray(100), { start: 100 })).toMatchObject([200, { state: "waiting" }]);
  const work = worker();
  await work.runOnce();
  const before = await newest();
  expect(before).toMatchObject({ state: "tried", step: "trial", asked_by: admin.actor, asked_by_name: admin.personId });
  expect(before?.result).toMatchObject({
    ...{ rows: 3, created: 3, unchanged: 0, rejected: 0, stations_created: 2, refused: [] },
    first_at: "2021-02-03T15:00:00.000Z",
    formats: [{ name: "Lyft since 2020", dropped: [] }],
    warnings: { unknown_vehicle_type: 1, unknown_station: 2 },
  });
  expect(await storedRides()).toEqual([]);

  expect(await post(`/${id}/start`, {})).toMatchObject([200, { state: "waiting", step: "import" }]);
  const begun = performance.now();
  await work.runOnce();
  const latest = Math.ceil(app.clock() + performance.now() - begun);
  const after = await newest();
  expect(after).toMatchObject({ state: "done", result: { created: 3 }, import_id: expect.any(String) as string });
  expect(await storedRides()).toEqual(["A1", "A2", "A3"]);
  // However long the process has run, nobody who follows `updated_at` waits for a time to come.
  const written = statement(
    "test.uploads.written",
    "select extract(epoch from max(updated_at)) * 1000 as ms from rides",
  );
  expect(Number((await app.db.query<{ ms: string }>(written))[0]?.ms)).toBeLessThanOrEqual(latest);
  const importId = after?.import_id ?? "";
  const acts = statement(
    "test.uploads.acts",
    "select actor, action, detail from audit_log where subject = any($1::text[]) order by at, id",
  );
  expect(await app.db.query(acts, [[id, importId]])).toMatchObject([
    { actor: admin.actor, action: "upload.begun" },
    { actor: admin.actor, action: "upload.started" },
    { actor: admin.actor, action: "import.trips", detail: { files: ["rides.csv"], time_zone: "America/New_York" } },
  ]);
  expect((await admin.call("POST", `/console/v1/systems/${app.systemId}/imports/${importId}/undo`, {})).status).toBe(
    200,
  );
  await expect.poll(storedRides).toEqual([]);
});

it("a trial says what is wrong, and tries again as of another time zone", async () => {
  const bad = `${HEADER}\nBAD,classic_bike,2021-02-03 10:00:00,2021-02-03 09:00:00,First,JC1,,,40.7,-74,40.7,-74,member\n${RIDE}`;
  const upload = await tried(Buffer.from(bad));
  expect(upload?.result).toMatchObject({
    ...{ rows: 2, created: 1, rejected: 1, reasons: { end_before_start: 1 } },
  });
  expect(upload?.result?.entries[0]).toEqual({
    ...{ file: "rides.csv", line: "2", column: "ended_at", value: "2021-02-03 09:00:00" },
    ...{ reason: "end_before_start", outcome: "rejected" },
  });
  expect(await post(`/${upload?.id ?? ""}/try`, { time_zone: "Nowhere" })).toMatchObject([
    400,
    { message: expect.stringMatching(/^time_zone cannot be "Nowhere"/) as string },
  ]);
  expect((await post(`/${upload?.id ?? ""}/try`, { time_zone: "UTC" }))[0]).toBe(200);
  await worker().runOnce();
  expect((await newest())?.result?.first_at).toBe("2021-02-03T23:11:28.000Z");
});

it("what is no trip file is refused with the reason, and cannot be imported", async () => {
  const upload = await tried(Buffer.from(examples.lyft, "utf16le"));
  expect(upload?.result).toMatchObject({ created: 0, refused_count: 1 });
  expect(upload?.result?.refused[0]?.message).toMatch(/not text in UTF-8/);
  expect(await post(`/${upload?.id ?? ""}/start`, {})).toMatchObject([409, {}]);
});

it("one file is imported at a time: a second person learns whose is in the way, and may discard it", async () => {
  const other = await signIn(app, { partnerId: null });
  const bodies = ["a.csv", "b.csv"].map((file_name) => ({
    ...{ file_name, size: 10, is_packed: false, time_zone: "UTC" },
  }));
  const answers = await Promise.all([post("", bodies[0]), post("", bodies[1], other)]);
  expect(answers.map(([status]) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  const winner = answers[0]?.[0] === 200 ? admin : other;
  const loser = answers.find(([status]) => status === 409)?.[1];
  expect(loser?.["message"]).toContain(winner.personId);
  const id = String(answers.find(([status]) => status === 200)?.[1]["id"]);
  expect((await post(`/${id}/discard`, {}, winner === admin ? other : admin))[0]).toBe(200);
  expect(await send(id, CSV, { who: winner })).toMatchObject([404, { error: "not_found" }]);
});

it("whoever loses the right to import sends no more of the file", async () => {
  const leaving = await signIn(app, { partnerId: null });
  const id = await begin({}, leaving);
  expect((await send(id, CSV.subarray(0, 10), { isLast: false, who: leaving }))[0]).toBe(200);
  const downgrade = statement("test.uploads.viewer", "update memberships set role = 'viewer' where person_id = $1");
  await app.db.query(downgrade, [leaving.personId]);
  expect((await send(id, CSV.subarray(10), { start: 10, who: leaving }))[0]).toBe(403);
  expect((await post(`/${id}/discard`, {}, leaving))[0]).toBe(403);
});

it("too large a file, and one that is sent as something else, are refused before they are stored", async () => {
  const large = { file_name: "year.zip", size: MAX_UPLOAD_BYTES + 1, is_packed: true, time_zone: "UTC" };
  expect(await post("", large)).toMatchObject([409, { message: expect.stringContaining("1 GiB") as string }]);
  const id = await begin();
  expect(await post(`/${id}/parts?start=0&is_last=true`, {})).toMatchObject([415, {}]);
  expect((await send(id, new Uint8Array(1024 ** 2 + 1)))[0]).toBe(413);
  expect(await newest()).toMatchObject({ bytes: 0 });
});

it("an upload of which nothing comes any more is deleted after a quarter of an hour", async () => {
  const id = await begin();
  expect((await send(id, CSV.subarray(0, 10), { isLast: false }))[0]).toBe(200);
  const age = statement(
    "test.uploads.age",
    "update trip_uploads set changed_at = now() - $1::int * interval '1 minute'",
  );
  await app.db.query(age, [14]);
  await worker().runOnce();
  expect(await newest()).toMatchObject({ id });
  await app.db.query(age, [16]);
  await worker().runOnce();
  expect(await newest()).toBeNull();
});

it("what a killed process has written is undone, and the import is begun anew", async () => {
  const upload = await tried(CSV);
  await post(`/${upload?.id ?? ""}/start`, {});
  // The import looks as if its process was killed in the middle: two rides are written, and its status stays `running`.
  const part = await trips.write("part.csv", examples.lyft.split("\n").slice(0, 3).join("\n"));
  await trips.import([part], { importId: "import_killed", clock: app.clock, ids: app.ids });
  const cutOff = statement("test.uploads.cutOff", "update imports set status = 'running' where id = 'import_killed'");
  await app.db.query(cutOff);
  const killed = statement(
    "test.uploads.killed",
    `update trip_uploads set state = 'running', attempts = 1, import_id = 'import_killed', seen_at = now() - interval '61 s'`,
  );
  await app.db.query(killed);
  await Promise.all([worker().runOnce(), worker().runOnce()]);
  const done = await newest();
  expect(done).toMatchObject({ state: "done", result: { created: 3, unchanged: 0 } });
  const statuses = statement(
    "test.uploads.statuses",
    "select status from imports where id = 'import_killed' or id = $1 order by at, id",
  );
  expect(await app.db.query(statuses, [done?.import_id])).toEqual([{ status: "undone" }, { status: "done" }]);
  expect(await trips.wrongCounts()).toEqual([]);
  await undoImport({ ...app, actor: "test", onProgress: () => undefined }, app.systemId, done?.import_id ?? "");
});

it("what a killed process has written is undone, and the import is begun anew, if the undo was interrupted too", async () => {
  const upload = await tried(CSV);
  await post(`/${upload?.id ?? ""}/start`, {});
  await trips.import([await trips.write("all.csv", CSV)], {
    importId: "import_halfway",
    clock: app.clock,
    ids: app.ids,
  });
  const stop = () => {
    throw new Error("the service stops");
  };
  const undo = undoImport({ ...app, actor: "server", onProgress: stop }, app.systemId, "import_halfway");
  await expect(undo).rejects.toThrow("the service stops");
  const left = statement("test.uploads.halfway", "update trip_uploads set import_id = 'import_halfway'");
  await app.db.query(left);
  await worker().runOnce();
  const done = await newest();
  expect(done).toMatchObject({ state: "done", result: { created: 3, unchanged: 0 } });
  await undoImport({ ...app, actor: "test", onProgress: () => undefined }, app.systemId, done?.import_id ?? "");
});

it("an import that is undone while its process is away does not come back", async () => {
  const upload = await tried(CSV);
  await post(`/${upload?.id ?? ""}/start`, {});
  await trips.import([await trips.write("all.csv", CSV)], { importId: "import_taken", clock: app.clock, ids: app.ids });
  await undoImport({ ...app, actor: "test", onProgress: () => undefined }, app.systemId, "import_taken");
  const left = statement("test.uploads.left", "update trip_uploads set import_id = 'import_taken'");
  await app.db.query(left);
  await worker().runOnce();
  expect(await newest()).toMatchObject({ state: "failed", problem: expect.stringContaining("undone") as string });
  expect(await storedRides()).toEqual([]);
});

it("what was written before an import failed can be found, and an import that was cut off cannot be discarded", async () => {
  const upload = await tried(CSV);
  const id = upload?.id ?? "";
  await post(`/${id}/start`, {});
  const start = { systemId: app.systemId, id: "import_begun", kind: "trips", source: "trips", detail: {} } as const;
  await beginImport(app.db, { ...app, actor: "test" }, { ...start, at: new Date(app.clock()) });
  const cutOff = statement("test.uploads.begun", "update trip_uploads set import_id = 'import_begun'");
  await app.db.query(cutOff);
  expect((await post(`/${id}/discard`, {}))[0]).toBe(409);
  const unbegun = statement("test.uploads.unbegun", "update trip_uploads set import_id = null");
  await app.db.query(unbegun);
  // This try fails after its import has begun.
  const ids = { ...app.ids, next: (kind: string) => (kind === "import" ? "import_begun" : app.ids.next(kind)) };
  await worker({ ids }).runOnce();
  expect(errors.splice(0)).toHaveLength(1);
  expect(await newest()).toMatchObject({ state: "failed", import_id: "import_begun" });
  await undoImport({ ...app, actor: "test", onProgress: () => undefined }, app.systemId, "import_begun");
});

it("a full disk, a service that stops and a file that is discarded end a step at once", async () => {
  const id = await begin();
  await send(id, CSV);
  await worker({ minFreeBytes: Number.MAX_SAFE_INTEGER }).runOnce();
  expect(await newest()).toMatchObject({ state: "failed", problem: expect.stringContaining("is free") as string });
  const next = await begin();
  await send(next, CSV);
  const stopping = worker();
  const run = stopping.runOnce();
  await stopping.close();
  await run;
  expect(["waiting", "tried"]).toContain((await newest())?.state);
});
