import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serviceProgram } from "@bikeshare/test-kit";
import { expect, onTestFinished, test } from "vitest";
import { type ServerProcess, startServer } from "../../bench/processes.ts";
import { createTestDatabase } from "../../test/database.ts";
import { until } from "../../test/until.ts";
import { loopback } from "../../test/webhooks/dispatcher.harness.ts";
import { createIds } from "../ids.ts";
import { createPartner } from "../partners/service.ts";
import { statement } from "../storage/db/statement.ts";
import { loadSecrets } from "../storage/secrets/secrets.ts";
import { addEndpoint } from "./endpoints/endpoint-settings.ts";
import { createSecretCipher } from "./endpoints/secret.ts";
import { compareAllStations } from "./thresholds.ts";

const main = await serviceProgram();
/** Enough stations for many transactions. */
const STATIONS = 800;

test("of two workers one is killed while stations are compared: each endpoint is told of each station once", async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.close());
  const { db, systemId } = database;
  const rows = <Row>(sql: string) => db.query<Row>(statement("", sql), [systemId]);
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-thresholds-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const secretsFile = join(directory, "secrets.json");
  const { webhookKeys } = await loadSecrets(secretsFile, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
  // Uses the real time, as the processes do.
  const clock = () => Math.floor(performance.timeOrigin + performance.now());
  const context = { db, clock, ids: createIds(clock), actor: "test" };
  const { id: partnerId } = await createPartner(context, systemId, "Partner");
  await rows(
    `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at, source, counters)
     select $1, 's' || n, 's', 1, 1, true, true, true, 'online', now(), 'operator', 'operated' from generate_series(1, ${STATIONS}) as n`,
  );
  const keys = { rules: loopback, cipher: createSecretCipher(webhookKeys) };
  for (const name of ["One", "Two"])
    await addEndpoint(
      { ...context, ...keys },
      {
        ...{ systemId, partnerId, name, url: "http://127.0.0.1:1/", events: ["station.below_threshold"] },
        thresholds: [{ count: "bikes", fewer_than: 1, for_minutes: 10, station_ids: [], region_ids: [] }],
      },
    );
  await compareAllStations(context, systemId);
  // Pauses the endpoints, so that the processes only compare and send nothing.
  await rows(
    "update webhook_endpoints set status = 'paused', pause_reason = 'partner', paused_at = now() where system_id = $1",
  );
  await rows("update webhook_threshold_states set due_at = now() - interval '1 minute' where system_id = $1");

  const env = {
    ...{ DATABASE_URL: db.connectionString, SECRETS_FILE: secretsFile, LOG_LEVEL: "silent" },
    ...{ WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8", WEBHOOK_ALLOW_PORTS: "1-65535" },
  };
  const start = async (): Promise<ServerProcess> => {
    const started = await startServer(main, ["serve", "--role", "worker"], env);
    onTestFinished(() => started.stop());
    return started;
  };
  const told = async () =>
    (await rows<{ n: number }>("select count(*) as n from webhook_deliveries where system_id = $1"))[0]?.n ?? 0;
  const killed = await start();
  await until(async () => (await told()) > 0);
  process.kill(killed.pid, "SIGKILL");
  await killed.stop();
  expect(await told()).toBeLessThan(2 * STATIONS);
  // Lets the minute pass after which the killed worker's run counts as ended.
  await rows("update work_runs set ends_by = now() where system_id = $1");
  await Promise.all([start(), start()]);
  await until(async () => (await told()) >= 2 * STATIONS);
  await until(
    async () =>
      (await rows("select from webhook_threshold_states where system_id = $1 and due_at is not null")).length === 0,
  );
  const sent = `select count(*) as n, count(distinct (endpoint_id, resource_id)) as different, count(distinct event_id) as events
    from webhook_deliveries where system_id = $1`;
  expect(await rows(sent)).toEqual([{ n: 2 * STATIONS, different: 2 * STATIONS, events: 2 * STATIONS }]);
});
