import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExportFile } from "@bikeshare/contract";
import { downloadExport } from "@bikeshare/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../../test/app.ts";
import { type BuiltApp, buildAnother } from "../../../test/built-app.ts";
import { putReadyExport } from "../../../test/exports/ready-exports.ts";
import { createPartner } from "../../partners/service.ts";
import { suspendPartner } from "../../partners/suspend-or-remove.ts";
import { shareExport } from "./service.ts";

const CONTENT = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251));
const ID = "export_shared";

let first: TestApp;
let app: BuiltApp;
let directory: string;
let key: string;
beforeAll(async () => {
  first = await startTestApp();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-downloads-"));
  app = await buildAnother(first, { dataDir: directory });
  await mkdir(join(directory, "exports"));
  const sha256 = createHash("sha256").update(CONTENT).digest("hex");
  const facts = { bytes: CONTENT.length, sha256 };
  await putReadyExport(first, ID, facts);
  await putReadyExport(first, "export_own", { ...facts, isShared: false });
  await putReadyExport(first, "export_elsewhere", facts);
  await writeFile(join(directory, "exports", `${ID}-1.csv.gz`), CONTENT);
  ({ key } = await first.issue());
});
afterAll(async () => {
  await app.close();
  await first.close();
  await rm(directory, { recursive: true });
});

const get = async (path: string, headers: Record<string, string> = { authorization: `Bearer ${key}` }) =>
  fetch(path.startsWith("http") ? path.replace("http://127.0.0.1/", `${app.url}/`) : app.url + path, { headers });
const read = async (id = ID) => (await (await get(`/v1/exports/${id}`)).json()) as ExportFile;
const link = async (id = ID) => (await read(id)).download_url;

it("a partner sees the files that the operator shares, newest first, and gets one by its link, whose checksum is right", async () => {
  const { data } = (await (await get("/v1/exports")).json()) as { data: ExportFile[] };
  expect(data.map(({ id }) => id)).toEqual([ID, "export_elsewhere"]);
  expect((await get("/v1/exports/export_own")).status).toBe(404);
  for (const query of ["?month=2026-03", "?format=parquet", "?kind=stations"]) {
    expect(await (await get(`/v1/exports${query}`)).json()).toMatchObject({ data: [], total_pages: 1 });
  }
  expect((await get("/v1/exports?month=../2026")).status).toBe(400);
  const fetched = await downloadExport(await read(), { fetch: (url) => get(url, {}) });
  expect(Buffer.compare(fetched, CONTENT)).toBe(0);
  const spoilt = downloadExport({ ...(await read()), sha256: "0".repeat(64) }, { fetch: (url) => get(url, {}) });
  await expect(spoilt).rejects.toThrow("another SHA-256");
});

it("a download has a checksum, a name and ranges, and is not sent again to whoever has it", async () => {
  const url = await link();
  const { sha256 } = await read();
  const whole = await get(url, {});
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    etag: `"${sha256}"`,
    "repr-digest": `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`,
    "accept-ranges": "bytes",
    "content-type": "application/octet-stream",
    "content-length": "100000",
    "content-disposition": 'attachment; filename="main-rides-2026-02-coarse.csv.gz"',
    "x-content-type-options": "nosniff",
  });
  await whole.arrayBuffer();
  expect((await get(url, { "if-none-match": `"${sha256}"` })).status).toBe(304);
  for (const [range, from, to] of [
    ["bytes=10-19", 10, 20],
    ["bytes=99990-", 99_990, 100_000],
    ["bytes=-5", 99_995, 100_000],
  ] as const) {
    const part = await get(url, { range });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, `bytes ${from}-${to - 1}/100000`]);
    expect(Buffer.compare(Buffer.from(await part.arrayBuffer()), CONTENT.subarray(from, to))).toBe(0);
  }
  for (const headers of [
    { range: "bytes=5-1" },
    { range: "bytes=0-1,5-6" },
    { range: "bytes=0-1", "if-range": '"other"' },
  ]) {
    const all = await get(url, headers);
    expect([all.status, (await all.arrayBuffer()).byteLength]).toEqual([200, 100_000]);
  }
  const beyond = await get(url, { range: "bytes=100000-" });
  expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */100000"]);
  expect(await beyond.json()).toMatchObject({ error: "range_not_satisfiable" });
  const head = await fetch(url.replace("http://127.0.0.1/", `${app.url}/`), { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, "100000"]);
});

it("a link that was changed, has ended, or whose file or partner is gone gives nothing", async () => {
  const ended = async (url: string) => {
    const response = await get(url, {});
    return [response.status, ((await response.json()) as { error: string }).error];
  };
  const gone = [410, "download_link_ended"];
  const url = await link();
  const token = url.split("/")[4] ?? "";
  expect(await ended(url.replace(token, `${token.slice(0, -2)}AA`))).toEqual(gone);
  expect(await ended(url.replace(token, "..%2f..%2fetc"))).toEqual(gone);
  const context = { ...first, actor: "test" };
  await shareExport(context, first.systemId, ID, false);
  expect(await ended(url)).toEqual(gone);
  await shareExport(context, first.systemId, ID, true);
  // The link of a partner that is suspended afterwards ends too.
  const other = await createPartner(context, first.systemId, "Another");
  const { key: otherKey } = await first.issue({ partnerId: other.id });
  const otherUrl = (
    (await (await get(`/v1/exports/${ID}`, { authorization: `Bearer ${otherKey}` })).json()) as ExportFile
  ).download_url;
  expect(otherUrl).not.toBe(url);
  await suspendPartner(context, first.systemId, other.id);
  expect(await ended(otherUrl)).toEqual(gone);
  const { download_expires_at: end } = await read();
  first.clock.advance(Date.parse(end) - first.clock() - 1);
  expect((await get(url, {})).status).toBe(200);
  first.clock.advance(1);
  expect(await ended(url)).toEqual(gone);
});

it("a key without the scope sees no file, and a file that is on another machine is 503 in words", async () => {
  const { key: poor } = await first.issue({ scopes: ["rides:read"] });
  expect((await get(`/v1/exports/${ID}`, { authorization: `Bearer ${poor}` })).status).toBe(403);
  const response = await get(await link("export_elsewhere"), {});
  const { error, message } = (await response.json()) as { error: string; message: string };
  expect([response.status, error, message.includes("EXPORTS_DIR")]).toEqual([503, "unavailable", true]);
});

it("a partner downloads two files at a time, and a third is told to wait", async () => {
  const url = (await link()).replace("http://127.0.0.1/", `${app.url}/`);
  // The file is larger than the buffers of the sockets, so that the downloads do not end by themselves.
  await writeFile(join(directory, "exports", "export_large-1.csv.gz"), Buffer.alloc(30_000_000));
  await putReadyExport(first, "export_large", { bytes: 30_000_000 });
  const large = (await link("export_large")).replace("http://127.0.0.1/", `${app.url}/`);
  const held = [await fetch(large), await fetch(large)];
  const third = await fetch(url);
  const headers = ["retry-after", "content-disposition", "content-range", "etag"].map((name) =>
    third.headers.get(name),
  );
  expect([third.status, ...headers]).toEqual([429, "30", null, null, null]);
  for (const response of held) await response.body?.cancel();
  let again = await fetch(url);
  while (again.status === 429) again = await fetch(url);
  expect(again.status).toBe(200);
  await again.arrayBuffer();
});
