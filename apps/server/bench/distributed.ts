import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findFreePort } from "@bikeshare/test-kit";
import { superviseService } from "../test/bad-days/service-process.ts";
import { startLoads, type SystemLoad, verifyLoads } from "./distributed/loads.ts";
import { runPhases } from "./distributed/phases.ts";
import { describePhases } from "./distributed/report.ts";
import { prepareSystems } from "./distributed/systems.ts";

/*
 * Two systems of a distributed database, each on a machine of its own, under load: one is moved to the other's machine and
 * back, then one machine is broken and mended. Each system's requests are counted apart, and at the end everything that was
 * acknowledged must be there, and every event have arrived.
 *
 *   pnpm bench distributed --url postgres://…/bikeshare --break 'pg_ctl … stop -m immediate' --mend 'pg_ctl … start'
 *
 * The database is empty, on a coordinator that has two active nodes for shards (citus_add_node). The commands break and mend
 * the second of them, by port; without them nothing is broken. Exit status 1: something was lost or wrong.
 */
const { values } = parseArgs({
  options: {
    url: { type: "string" },
    // Requests a second to each system.
    rate: { type: "string", default: "20" },
    // Of each phase in which nothing is done.
    seconds: { type: "string", default: "10" },
    break: { type: "string" },
    mend: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
const { url: databaseUrl } = values;
if (databaseUrl === undefined) throw new Error("--url names the coordinator's database");

const directory = await mkdtemp(join(tmpdir(), "bikeshare-distributed-"));
const from = performance.now();
const progress = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - from) / 1_000)} s: ${line}\n`);
let loads: readonly SystemLoad[] = [];
const secretsFile = join(directory, "secrets.json");
const env = {
  DATABASE_URL: databaseUrl,
  DATA_DIR: directory,
  SECRETS_FILE: secretsFile,
  WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
  WEBHOOK_ALLOW_PORTS: "1-65535",
};
const systems = await prepareSystems({ databaseUrl, secretsFile, onProgress: progress });
const services = [
  superviseService("api", { ...env, PORT: String(await findFreePort()) }),
  superviseService("worker", env),
];
try {
  await Promise.all(services.map((service) => service.untilUp()));
  const base = () => services[0]?.url() ?? "http://127.0.0.1:9";
  loads = startLoads({ base, systems, requestsPerSecond: Number(values.rate), seed: Number(values.seed) });
  const phases = await runPhases({
    databaseUrl,
    loads,
    seconds: Number(values.seconds),
    commands: values.break === undefined ? undefined : { break: values.break, mend: values.mend ?? "" },
    onProgress: progress,
  });
  progress("verifying");
  const failures = await verifyLoads(loads, base, env);
  process.stdout.write(describePhases(phases));
  for (const failure of failures.slice(0, 20)) process.stdout.write(`FAILED ${failure}\n`);
  process.stdout.write(failures.length === 0 ? "HOLDS\n" : `${failures.length} failures\n`);
  process.exitCode = failures.length === 0 ? 0 : 1;
} finally {
  await Promise.all(services.map((service) => service.stop()));
  await Promise.all(systems.map(({ receiver }) => receiver.close()));
  await rm(directory, { recursive: true, force: true });
}
