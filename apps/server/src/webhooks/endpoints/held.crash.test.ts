import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serviceProgram } from "@bikeshare/test-kit";
import { expect, onTestFinished, test } from "vitest";
import { type ServerProcess, startServer } from "../../../bench/processes.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { until } from "../../../test/until.ts";
import { loopback } from "../../../test/webhooks/dispatcher.harness.ts";
import { createIds } from "../../ids.ts";
import { createPartner } from "../../partners/service.ts";
import { statement } from "../../storage/db/statement.ts";
import { loadSecrets } from "../../storage/secrets/secrets.ts";
import { setEndpoint } from "./endpoint-settings.ts";
import { createSecretCipher } from "./secret.ts";

const main = await serviceProgram();
const HELD = 2_400;

/**
 * Starts a receiver.
 * @returns its address, and the ids of the deliveries that it has received, in order
 */
async function startReceiver(): Promise<{ readonly url: string; readonly received: string[] }> {
  const received: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { delivery_id: id } = JSON.parse(Buffer.concat(chunks).toString()) as { delivery_id: string };
      received.push(id);
      response.writeHead(204).end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`, received };
}

/**
 * Creates a partner with deliveries that were held while its endpoint was paused.
 * @returns the partner's id, and the file with the secrets
 */
async function makeHeld({ db, systemId }: TestDatabase, url: string) {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-held-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const secretsFile = join(directory, "secrets.json");
  const { webhookKeys } = await loadSecrets(secretsFile, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
  // Uses the real time, as the processes do. Deliveries with times far from it would not be due, or would be dropped as old.
  const clock = () => Math.floor(performance.timeOrigin + performance.now());
  const context = { db, clock, ids: createIds(clock), actor: "test" };
  const { id: partnerId } = await createPartner(context, systemId, "Partner");
  const keys = { rules: loopback, cipher: createSecretCipher(webhookKeys) };
  const { endpoint } = await setEndpoint(
    { ...context, ...keys },
    { systemId, partnerId, url, events: ["ride.started"] },
  );
  const seed = `with bodies as (
       insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
       select $1, ($3::timestamptz)::date, 'event_' || i, 'ride.started', $3, '{}' from generate_series(1, $4::int) as i)
     insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status)
     select $1, ($3::timestamptz)::date, 'delivery_' || i, $2, 'event_' || i, 'ride.started', $3, 'held'
     from generate_series(1, $4::int) as i`;
  await db.query(statement("", seed), [systemId, endpoint.id, new Date(clock()), HELD]);
  return { partnerId, secretsFile };
}

async function startProcess(args: readonly string[], env: Record<string, string>): Promise<ServerProcess> {
  const started = await startServer(main, args, env);
  onTestFinished(() => started.stop());
  return started;
}

test("whoever asked for held deliveries may be killed, and the worker in the middle: all are sent", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.close());
  const rows = <Row>(sql: string) => database.db.query<Row>(statement("", sql), [database.systemId]);
  const { url, received } = await startReceiver();
  const { partnerId, secretsFile } = await makeHeld(database, url);
  const env = {
    DATABASE_URL: database.db.connectionString,
    SECRETS_FILE: secretsFile,
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
    LOG_LEVEL: "silent",
  };
  const asking = await startProcess(["--json", "webhooks", "send-held", "--partner", partnerId], env);
  process.kill(asking.pid, "SIGKILL");
  expect(JSON.parse(asking.firstLine)).toEqual({ sent: HELD });
  await asking.stop();

  const killed = await startProcess(["serve", "--role", "worker"], env);
  await until(() => received.length > HELD / 4);
  process.kill(killed.pid, "SIGKILL");
  await killed.stop();
  const [replay] = await rows<{ queued: number }>("select queued from webhook_replays where system_id = $1");
  expect(replay?.queued).toBeLessThan(HELD);

  // Ends the killed worker's lease, and the time in which it may still be sending.
  await rows("update webhook_lanes set leased_until = now() where system_id = $1");
  await rows("update webhook_workers set alive_until = now() where system_id = $1");
  await startProcess(["serve", "--role", "worker"], env);
  const unsent = "select id from webhook_deliveries where system_id = $1 and status <> 'succeeded' limit 1";
  await until(async () => (await rows(unsent)).length === 0);
  expect(new Set(received).size).toBe(HELD);
  // Only deliveries that the killed worker was sending may arrive twice. The log says that their outcome is unknown.
  const unknown = await rows("select 1 from webhook_attempts where system_id = $1 and outcome = 'unknown'");
  expect(received.length - HELD).toBeLessThanOrEqual(unknown.length);
  expect(
    await rows("select total, queued from webhook_replays where system_id = $1 and finished_at is not null"),
  ).toEqual([{ total: HELD, queued: HELD }]);
});
