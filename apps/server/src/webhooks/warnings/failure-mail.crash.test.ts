import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serviceProgram } from "@bikeshare/test-kit";
import { expect, onTestFinished, test } from "vitest";
import { type ServerProcess, startServer } from "../../../bench/processes.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { type SmtpServer, startSmtpServer } from "../../../test/servers/smtp-server.ts";
import { until } from "../../../test/until.ts";
import { loopback } from "../../../test/webhooks/dispatcher.harness.ts";
import { recordEvents } from "../../events/outbox.ts";
import { createIds } from "../../ids.ts";
import { createPartner } from "../../partners/service.ts";
import { statement } from "../../storage/db/statement.ts";
import { loadSecrets } from "../../storage/secrets/secrets.ts";
import { setEndpoint } from "../endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../endpoints/secret.ts";

const main = await serviceProgram();

/**
 * Starts a receiver that answers every request with 410.
 * @returns its address
 */
async function startGoneReceiver(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(410).end());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
}

/**
 * Creates a partner with an endpoint and three events for it.
 * @returns the file with the secrets
 */
async function makeDeliveries({ db, systemId }: TestDatabase, url: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-mail-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const secretsFile = join(directory, "secrets.json");
  const { webhookKeys } = await loadSecrets(secretsFile, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
  // Uses the real time, as the processes do. Deliveries with times far from it would not be due, or would be dropped as old.
  const clock = () => Math.floor(performance.timeOrigin + performance.now());
  const ids = createIds(clock);
  const context = { db, clock, ids, actor: "test", rules: loopback, cipher: createSecretCipher(webhookKeys) };
  const { id: partnerId } = await createPartner(context, systemId, "Partner");
  await setEndpoint(context, { systemId, partnerId, url, events: ["ride.started"], email: "ops@partner.example" });
  const now = new Date(clock());
  // Sets the state after two answers 410, so that the next one pauses without a wait of a minute.
  const seed = `update webhook_lanes set failing_since = $2, last_failed_at = $2, failures = 2, gone_answers = 2, gone_since = $2
    where system_id = $1`;
  await db.query(statement("", seed), [systemId, new Date(now.getTime() - 120_000)]);
  const event = { name: "ride.started" as const, occurredAt: now, partnerId: null, data: "{}" };
  await db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event, event, event]));
  return secretsFile;
}

async function startSmtp(hangsAt?: "end of data"): Promise<SmtpServer> {
  const server = await startSmtpServer(hangsAt === undefined ? {} : { hangsAt });
  onTestFinished(() => server.close());
  return server;
}

async function startWorker(env: Record<string, string>, smtp: SmtpServer): Promise<ServerProcess> {
  const worker = await startServer(main, ["serve", "--role", "worker"], {
    ...env,
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    MAIL_FROM: "bikes@bikes.example",
  });
  onTestFinished(() => worker.stop());
  return worker;
}

const messageIds = ({ mails }: SmtpServer) => mails.map(({ data }) => /^Message-ID: <(.*)>\r$/m.exec(data)?.[1]);

test("a mail whose process is killed while it is sent is sent by the next, and can be told for a repeat", async () => {
  const database = await createTestDatabase();
  const rows = <Row>(sql: string) => database.db.query<Row>(statement("", sql), [database.systemId]);
  onTestFinished(() => database.close());
  const secretsFile = await makeDeliveries(database, await startGoneReceiver());
  const env = {
    DATABASE_URL: database.db.connectionString,
    SECRETS_FILE: secretsFile,
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
    LOG_LEVEL: "silent",
  };
  const silent = await startSmtp("end of data");
  const killed = await startWorker(env, silent);
  await until(() => silent.mails.length === 1);
  process.kill(killed.pid, "SIGKILL");
  await killed.stop();

  const [kept] = await rows<{ id: string; attempts: number }>(
    "select id, attempts from webhook_mails where system_id = $1",
  );
  expect(kept?.attempts).toBe(1);
  // Lets the minute pass after which the try, or its process, counts as ended.
  await rows("update webhook_mails set due_at = now() where system_id = $1");
  await rows("update work_runs set ends_by = now() where system_id = $1");
  const taking = await startSmtp();
  await startWorker(env, taking);
  await until(async () => (await rows("select id from webhook_mails where system_id = $1")).length === 0);
  expect(messageIds(taking)).toEqual([`${kept?.id}@bikes.example`]);
  expect(messageIds(silent)).toEqual(messageIds(taking));
  expect(taking.mails[0]?.data).toMatch(/^Subject: Webhooks to 127\.0\.0\.1:\d+ are paused\r$/m);
});
