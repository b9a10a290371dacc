import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { sandboxClock, sandboxEvent, sandboxScenario } from "@bikeshare/contract/sandbox";
import { serviceProgram } from "@bikeshare/test-kit";
import { type Delivery, verify } from "@bikeshare/webhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { serve, type Service } from "../../src/runtime/serve.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { until } from "../until.ts";

const clock = () => Date.now();
const ids = createIds(clock);
const received: { readonly delivery: Delivery; readonly headers: IncomingHttpHeaders }[] = [];
let database: TestDatabase;
let directory: string;
let service: Service;
let secret = "";
let status = 200;
let refused = 0;
let sandbox: { readonly system_id: string; readonly key: string };

const receiver = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const header = request.headers["service-signature"];
    verify(Buffer.concat(chunks), String(header), secret).then(
      (delivery) => {
        received.push({ delivery, headers: request.headers });
        response.writeHead(status).end();
      },
      () => {
        refused++;
        response.writeHead(400).end();
      },
    );
  });
});

beforeAll(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-sandbox-"));
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  service = await serve({
    config: readConfig(environment(), directory),
    ...{ clock, ids, role: "all", resolveSystem: () => Promise.resolve(database.systemId) },
  });
  const { id = "" } = await bikeshare("partners", "create", "Journey Planner");
  sandbox = (await bikeshare("partners", "sandbox", id)) as unknown as typeof sandbox;
  const { port } = receiver.address() as { port: number };
  const events = "ride.completed,reservation.created,reservation.expired";
  const settings = ["--partner", id, "--url", `http://127.0.0.1:${port}/`, "--events", events];
  const mailed = ["--email", "ops@partner.example"];
  const made = await bikeshare("--system", sandbox.system_id, "webhooks", "set", ...settings, ...mailed);
  secret = made["secret"] ?? "";
});
afterAll(async () => {
  await service.close();
  receiver.close();
  await database.close();
  await rm(directory, { recursive: true, force: true });
});

function environment() {
  return {
    DATABASE_URL: database.db.connectionString,
    ...{ DATA_DIR: directory, PORT: "0", LOG_LEVEL: "silent", DRAIN_DELAY: "0s" },
    ...{ SMTP_URL: "smtp://127.0.0.1:9", MAIL_FROM: "bikes@city.example" },
    ...{ WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8", WEBHOOK_ALLOW_PORTS: "1024-65535" },
  };
}

async function bikeshare(...args: string[]): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--conditions=@bikeshare/source", await serviceProgram(), "--json", ...args],
    { env: { ...process.env, ...environment() } },
  );
  return JSON.parse(stdout) as Record<string, string>;
}

async function call(method: "GET" | "POST", path: string, body?: unknown, key = sandbox.key): Promise<unknown> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect([response.status < 300, response.headers.get("sandbox")]).toEqual([true, "true"]);
  return response.json();
}

const isReady = async () => sandboxClock.parse(await call("GET", "/sandbox/v1/clock")).ready;
/** Returns the received deliveries about a resource. */
const of = (id: string) => received.filter(({ delivery }) => (delivery.data as { id?: string }).id === id);
const namesOf = () => received.map(({ delivery }) => delivery.event);

it("a ride that a test asks for is delivered, signed and marked as the sandbox's", async () => {
  const caused = sandboxEvent.parse(await call("POST", "/sandbox/v1/events/ride.completed", {}));
  await until(() => of(caused.resource_id).length > 0);
  expect([received[0]?.delivery.event, received[0]?.headers["sandbox"]]).toEqual(["ride.completed", "true"]);
});

it("a reservation expires by the clock that is advanced, and not before", async () => {
  const { resource_id: id } = sandboxEvent.parse(await call("POST", "/sandbox/v1/events/reservation.created", {}));
  const shown = async () => (await call("GET", `/v1/reservations/${id}`)) as { status: string };
  await call("POST", "/sandbox/v1/clock/advance", { seconds: 60 });
  expect(await shown()).toMatchObject({ status: "active" });
  await call("POST", "/sandbox/v1/clock/advance", { seconds: 15 * 60 });
  await until(isReady);
  expect(await shown()).toMatchObject({ status: "expired" });
  expect(namesOf()).toContain("reservation.expired");
});

it("the next attempt of a failed delivery falls due by the clock, without a sleep", async () => {
  status = 500;
  const { resource_id: id } = sandboxEvent.parse(await call("POST", "/sandbox/v1/events/ride.completed", {}));
  const attempts = () => of(id);
  await until(() => attempts().length === 1);
  await until(isReady);
  for (let attempt = 2; attempt <= 6; attempt++) {
    // Advances the clock by more than the delay before any of these attempts.
    await call("POST", "/sandbox/v1/clock/advance", { seconds: 3_600 });
    await until(() => attempts().length >= attempt);
    await until(isReady);
  }
  status = 200;
  await call("POST", "/sandbox/v1/clock/advance", { seconds: 7_200 });
  await until(async () => attempts().length === 7 && (await isReady()));
  expect(new Set(attempts().map(({ delivery }) => delivery.delivery_id)).size).toBe(1);
});

it("deliveries suffer what a test asks for, until it ends that", async () => {
  const suffer = (faults: object) => call("POST", "/sandbox/v1/webhooks/faults", faults);
  const complete = async () =>
    sandboxEvent.parse(await call("POST", "/sandbox/v1/events/ride.completed", {})).resource_id;
  await suffer({ duplicate: true });
  await until(async () => {
    const id = await complete();
    await until(() => of(id).length > 0);
    await until(isReady);
    return of(id).length === 2;
  });
  await suffer({ bad_signature: true });
  await until(async () => {
    const before = refused;
    await complete();
    return until(() => refused > before, 2_000).then(
      () => true,
      () => false,
    );
  });
  await suffer({});
  // The refused delivery is sent again, now with a valid signature.
  await until(async () => {
    await call("POST", "/sandbox/v1/clock/advance", { seconds: 60 });
    return isReady();
  });
  const last = await complete();
  await until(() => of(last).length === 1);
});

it("a receiver that is down gets its deliveries when it recovers", async () => {
  const played = sandboxScenario.parse(await call("POST", "/sandbox/v1/scenarios/receiver-down-then-recovers", {}));
  const [, id = ""] = /^ride (\S+) ends/m.exec(played.steps.join("\n")) ?? [];
  // Ends the fault early, instead of waiting for its ten seconds.
  await call("POST", "/sandbox/v1/webhooks/faults", {});
  await until(async () => {
    await call("POST", "/sandbox/v1/clock/advance", { seconds: 600 });
    return (await isReady()) && of(id).length > 0;
  });
  expect(of(id)).toHaveLength(1);
});

it("a key that expires within the time that passes is refused", async () => {
  const expiresAt = new Date(clock() + 3_600_000).toISOString();
  const partner = ((await call("GET", "/v1/me")) as { partner: { id: string } }).partner.id;
  const args = ["--partner", partner, "--scopes", "stations:read", "--expires-at", expiresAt];
  const { key = "" } = await bikeshare("--system", sandbox.system_id, "keys", "issue", ...args);
  await call("GET", "/v1/stations", undefined, key);
  await call("POST", "/sandbox/v1/clock/advance", { seconds: 3_600 });
  const statusOf = async () =>
    (await fetch(`${service.url}/v1/stations`, { headers: { authorization: `Bearer ${key}` } })).status;
  await until(async () => (await statusOf()) === 401);
});

it("nobody is mailed of a receiver that fails in a sandbox, and no mail waits for ever", async () => {
  const partner = ((await call("GET", "/v1/me")) as { partner: { id: string } }).partner.id;
  const ofEndpoint = ["--partner", partner];
  await bikeshare("--system", sandbox.system_id, "webhooks", "pause", ...ofEndpoint);
  status = 500;
  await bikeshare("--system", sandbox.system_id, "webhooks", "resume", ...ofEndpoint);
  await call("POST", "/sandbox/v1/events/ride.completed", {});
  const rows = (text: string) => database.db.query(statement("", text), [sandbox.system_id]);
  // For a live endpoint, the service would send a mail about this at once.
  const failed = "select id from webhook_endpoints where system_id = $1 and pause_reason = 'probe_failed'";
  await until(async () => (await rows(failed)).length === 1);
  expect(await rows("select id from webhook_mails where system_id = $1")).toEqual([]);
});
