import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { type ReplicatedPostgres, startReplicatedPostgres } from "@bikeshare/embedded-postgres/testing";
import { findFreePort } from "@bikeshare/test-kit";
import { createSystem } from "../../src/city/systems/service.ts";
import { readConfig } from "../../src/config.ts";
import { createIds } from "../../src/ids.ts";
import { issueKey } from "../../src/partners/keys/service.ts";
import { createPartner } from "../../src/partners/service.ts";
import { serve } from "../../src/runtime/serve.ts";
import { openDatabase } from "../../src/storage/db/database.ts";
import { loadSecrets, secretsPath } from "../../src/storage/secrets/secrets.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../../src/webhooks/endpoints/secret.ts";

/** A process of the service that uses a replica. */
export interface Process {
  /** Sends a GET. @returns the status and the parsed body */
  get(path: string): Promise<Answer>;
  /** Sends a POST. @param idempotencyKey the same for each repetition until the outcome is known */
  post(path: string, body: object, idempotencyKey?: string): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  /** Returns the value of a metric of the process. */
  metric(name: string): Promise<number>;
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Two processes of the service on a primary and its replica. */
export interface ReplicaHarness {
  readonly postgres: ReplicatedPostgres;
  readonly processes: readonly [Process, Process];
  /** Sets a listener that gets the data of each webhook. The response is sent when the listener has finished. */
  onWebhook(listener: (data: Record<string, unknown>) => Promise<void>): void;
  close(): Promise<void>;
}

const clock = () => Math.round(performance.timeOrigin + performance.now());
const ids = createIds(clock);

export async function openReplicaHarness(): Promise<ReplicaHarness> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-replica-"));
  const postgres = await startReplicatedPostgres();
  let listen: (data: Record<string, unknown>) => Promise<void> = () => Promise.resolve();
  const receiver = createServer((request, response) => {
    const receive = async () => listen(((await json(request)) as { data: Record<string, unknown> }).data);
    const answer = (status: number) => () => void response.writeHead(status).end();
    receive().then(answer(204), answer(500));
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const { port } = receiver.address() as AddressInfo;
  const env = {
    DATABASE_URL: postgres.primaryUrl,
    DATABASE_REPLICA_URL: postgres.replicaUrl,
    DATA_DIR: directory,
    PORT: "0",
    DRAIN_DELAY: "0s",
    LOG_LEVEL: "silent",
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: `${port}`,
  };
  const start = async (role: "all" | "api") => {
    const metricsPort = await findFreePort();
    const config = readConfig({ ...env, METRICS_PORT: `${metricsPort}` }, directory);
    const resolveSystem = async (db: Parameters<typeof createSystem>[0]) =>
      createSystem(db, "main", "Test city", clock()).then(() => "main");
    const service = await serve({ config, clock, ids, resolveSystem, role });
    return { service, url: service.url ?? "", metricsUrl: `http://127.0.0.1:${metricsPort}`, config };
  };
  const [one, other] = [await start("all"), await start("api")];
  const keys = await prepare(postgres.primaryUrl, secretsPath(one.config), `http://127.0.0.1:${port}/hooks`);
  return {
    postgres,
    processes: [callsOf(one, keys), callsOf(other, keys)],
    onWebhook: (listener) => void (listen = listener),
    close: async () => {
      await Promise.all([one, other].map(({ service }) => service.close()));
      receiver.closeAllConnections();
      receiver.close();
      await postgres.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface Keys {
  readonly partner: string;
  readonly operator: string;
}

/** Creates a partner with an endpoint, and the keys. */
async function prepare(databaseUrl: string, secretsFile: string, url: string): Promise<Keys> {
  const db = openDatabase({ connectionString: databaseUrl });
  const { webhookKeys } = await loadSecrets(secretsFile, (bytes) => ids.randomBytes(bytes));
  const rules = { allowNetworks: readConfig({ WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8" }, "/").webhooks.allowNetworks };
  const cipher = createSecretCipher(webhookKeys);
  const allowPorts = [{ from: 1, to: 65_535 }];
  const context = { db, clock, ids, actor: "test", cipher, rules: { ...rules, allowPorts } };
  const systemId = "main";
  const { id: partnerId } = await createPartner(context, systemId, "Partner");
  await setEndpoint(context, { systemId, partnerId, url, events: ["ride.completed"] });
  const common = { systemId, rateLimit: 1_000_000 };
  const scopes = ["rides:read", "stations:read", "bikes:read", "reservations:read", "reservations:write"] as const;
  const partner = await issueKey(context, { ...common, partnerId, scopes: [...scopes, "events:read"] });
  const operator = await issueKey(context, { ...common, partnerId: null, scopes: [] });
  await db.close();
  return { partner: partner.key, operator: operator.key };
}

function callsOf({ url, metricsUrl }: { url: string; metricsUrl: string }, keys: Keys): Process {
  const call = async (method: string, path: string, body?: object, idempotencyKey?: string): Promise<Answer> => {
    const key = path.startsWith("/operator") ? keys.operator : keys.partner;
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    };
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    get: (path) => call("GET", path),
    post: (path, body, idempotencyKey) => call("POST", path, body, idempotencyKey),
    delete: (path) => call("DELETE", path),
    async metric(name) {
      const text = await (await fetch(`${metricsUrl}/metrics`)).text();
      const line = text.split("\n").find((each) => each.startsWith(`${name} `));
      return Number(line?.slice(name.length));
    },
  };
}
