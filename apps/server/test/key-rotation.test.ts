import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { serviceProgram } from "@bikeshare/test-kit";
import { verify } from "@bikeshare/webhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { upsertBikes } from "../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../src/city/fleet/station-commands.ts";
import { registerSecrets } from "../src/cli/maintenance.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { loadSecrets, type SecretsFile } from "../src/storage/secrets/secrets.ts";
import { setEndpoint } from "../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { type CliHarness, openCliHarness } from "./cli/cli.harness.ts";
import { until } from "./until.ts";
import { loopback } from "./webhooks/dispatcher.harness.ts";

/* Rotates the encryption keys of two processes of the service while they answer requests and send deliveries. */

/** The real clock, which the processes use too. */
const clock = () => Math.round(performance.timeOrigin + performance.now());
const main = await serviceProgram();
const children = new Set<ChildProcess>();
const deliveries = { verified: 0, refused: 0 };
const receiver = createServer((request, response) => {
  readBody(request)
    .then((body) => verify(body, request.headers["service-signature"], secret))
    .then(
      () => deliveries.verified++,
      () => deliveries.refused++,
    )
    .finally(() => response.end());
});
let cli: CliHarness;
let dataDir: string;
let urls: readonly string[];
let key: string;
let secret: string;

beforeAll(async () => {
  cli = await openCliHarness({ register: registerSecrets, clock });
  dataDir = join(cli.directory, "data");
  const { db, systemId } = cli;
  const context = { db, clock, ids: createIds(clock), actor: "test" };
  const ids = Array.from({ length: 30 }, (_, n) => `s${String(n).padStart(2, "0")}`);
  await upsertStations(
    context,
    systemId,
    ids.map((id) => ({ item: { id, name: id, lat: 1, lon: 2 } })),
  );
  await upsertBikes(context, systemId, [{ item: { id: "bike", station_id: "s00" } }]);
  const partner = await createPartner(context, systemId, "Partner");
  key = (
    await issueKey(context, {
      systemId,

      partnerId: partner.id,
      scopes: ["stations:read", "reservations:read", "reservations:write", "events:read"],
      rateLimit: 1_000_000,
    })
  ).key;
  urls = [await serve(), await serve()];
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const { webhookKeys } = await loadSecrets(join(dataDir, "secrets.json"), (bytes) => new Uint8Array(bytes));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const set = await setEndpoint(
    { ...context, rules: loopback, cipher: createSecretCipher(webhookKeys) },
    { systemId, partnerId: partner.id, url, events: ["reservation.created", "reservation.cancelled"] },
  );
  secret = set.secret ?? "";
});
afterAll(async () => {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  receiver.close();
  await cli.close();
});

function start(...args: readonly string[]): ChildProcess & { readonly stdout: object; readonly stderr: object } {
  const env = {
    ...process.env,
    DATABASE_URL: cli.db.connectionString,
    DATA_DIR: dataDir,
    PORT: "0",
    DRAIN_DELAY: "0s",
    LOG_LEVEL: "error",
    LOG_FORMAT: "json",
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
  };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", main, "--json", ...args], {
    env,
    stdio: [...stdio],
  });
  children.add(child);
  return child;
}

const logged: string[] = [];

async function serve(): Promise<string> {
  const { stdout, stderr } = start("serve");
  createInterface({ input: stderr as NodeJS.ReadableStream }).on("line", (line) => {
    // These lines are logged if the dashboard was not built before, and if a busy machine connects too slowly. Another
    // failure of the database is not expected.
    const isExpected =
      line.startsWith("The dashboard's pages were missing or old") ||
      line.includes("Connection terminated due to connection timeout");
    if (!isExpected) logged.push(line);
  });
  const [line] = (await once(createInterface({ input: stdout as NodeJS.ReadableStream }), "line")) as [string];
  return (JSON.parse(line) as { url: string }).url;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

const secretsFile = async () => JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8")) as SecretsFile;

/** The part of a response that the callers need for their next request. */
interface Called {
  readonly id?: string;
  readonly next_cursor?: string;
}

/**
 * Starts callers that alternate between the processes. One walks a list by cursor, one reserves and cancels, which creates
 * deliveries.
 */
function startLoad() {
  const failures: string[] = [];
  let isOver = false;
  let walks = 0;
  const call = async (n: number, path: string, init: RequestInit = {}): Promise<Called> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(`${urls[n % 2]}${path}`, { ...init, headers });
    const text = await response.text();
    if (!response.ok) failures.push(`${init.method ?? "GET"} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Called;
  };
  const walk = async () => {
    for (let n = 0; !isOver; walks++)
      for (let cursor: string | undefined = undefined, page = 0; page === 0 || cursor !== undefined; page++, n++) {
        const query = cursor === undefined ? "" : `&cursor=${cursor}`;
        ({ next_cursor: cursor } = await call(n, `/v1/stations?limit=3${query}`));
        await sleep(20);
      }
  };
  const reserve = async () => {
    for (let n = 0; !isOver; n++) {
      const { id } = await call(n, "/v1/reservations", { method: "POST", body: '{"bike_id":"bike"}' });
      await call(n + 1, `/v1/reservations/${id}`, { method: "DELETE" });
      await sleep(50);
    }
  };
  const running = Promise.all([walk(), reserve()]);
  return {
    walks: () => walks,
    async end() {
      isOver = true;
      await running;
      return failures;
    },
  };
}

it("changes every key while two processes work, killed midway or not: no request and no signature fails", async () => {
  const load = startLoad();
  const before = await secretsFile();
  await until(() => deliveries.verified > 5);
  const early = (await (await get(0, "/v1/stations?limit=2")).json()) as { next_cursor: string };
  // Kills the command while it waits for the processes to load or use the new keys.
  const killed = start("secrets", "rotate");
  await once(createInterface({ input: killed.stderr as NodeJS.ReadableStream }), "line");
  killed.kill("SIGKILL");
  await once(killed, "exit");
  const midway = await secretsFile();
  expect(midway.rotation).toBeDefined();
  expect(midway.webhook_keys).toHaveLength(2);
  const { stdout } = await cli.run("--json", "secrets", "rotate");
  expect(JSON.parse(stdout)).toMatchObject({ reencrypted: 1, unreadable: 0 });
  const rotated = await secretsFile();
  expect(rotated.webhook_keys).toHaveLength(2);
  expect(rotated.webhook_keys?.[1]).toEqual(before.webhook_keys?.[0]);
  expect(rotated.cursor_keys[1]).toEqual(before.cursor_keys[0]);
  for (const n of [0, 1]) expect((await get(n, `/v1/stations?limit=2&cursor=${early.next_cursor}`)).status).toBe(200);

  await expect(cli.run("secrets", "remove-old-keys")).rejects.toThrow("--now");
  // Waits until walks that began with the old keys have ended. In production, the command requires waiting an hour for that.
  const walked = load.walks();
  await until(() => load.walks() >= walked + 2);
  expect(JSON.parse((await cli.run("--json", "secrets", "remove-old-keys", "--now")).stdout)).toEqual({ removed: 2 });
  const sent = deliveries.verified;
  await until(() => deliveries.verified > sent + 5);
  expect(await load.end()).toEqual([]);
  expect(deliveries.refused).toBe(0);
  const after = await secretsFile();
  expect([after.cursor_keys, after.webhook_keys]).toEqual([
    rotated.cursor_keys.slice(0, 1),
    rotated.webhook_keys?.slice(0, 1),
  ]);
  expect(logged).toEqual([]);
});

it("a file that is put back to the old keys is not taken, and each process says so", async () => {
  const path = join(dataDir, "secrets.json");
  const ours = await readFile(path, "utf8");
  const key64 = Buffer.alloc(32, 5).toString("base64url");
  await writeFile(
    path,
    JSON.stringify({ cursor_keys: [{ id: 1, key: key64 }], webhook_keys: [{ id: 1, key: key64 }] }),
  );
  await until(() => logged.filter((line) => line.includes("secrets_file_mismatch")).length === 2);
  const load = startLoad();
  const sent = deliveries.verified;
  await until(() => deliveries.verified > sent + 3);
  await writeFile(path, ours);
  expect(await load.end()).toEqual([]);
  expect(deliveries.refused).toBe(0);
});

function get(n: number, path: string): Promise<Response> {
  return fetch(`${urls[n]}${path}`, { headers: { authorization: `Bearer ${key}` } });
}
