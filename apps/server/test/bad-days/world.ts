import { execFile } from "node:child_process";
import { chmod, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findFreePort, openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { makeDatabaseDirectory } from "@bikeshare/test-kit";
import { prepareSystem, type PreparedSystem } from "../../bench/workload/prepare.ts";
import { type Receiver, startReceiver } from "../../bench/workload/receiver.ts";
import { type Balancer, startBalancer } from "../servers/balancer.ts";
import { until } from "../until.ts";
import { type ServiceProcess, superviseService } from "./service-process.ts";

/** A deployment whose every process may be killed: API processes behind a load balancer, workers, PostgreSQL. */
export interface BadDaysWorld {
  readonly balancer: Balancer;
  readonly system: PreparedSystem;
  readonly receiver: Receiver;
  readonly apis: readonly ServiceProcess[];
  readonly workers: readonly ServiceProcess[];
  /** The main process of PostgreSQL. */
  postmaster(): Promise<number>;
  /** Its other processes: those of connections and its own. */
  backends(): Promise<readonly number[]>;
  /** What `bikeshare check` finds wrong; empty: every invariant holds. */
  check(): Promise<string>;
  close(): Promise<void>;
}

export interface BadDaysWorldOptions {
  readonly apis: number;
  readonly workers: number;
  readonly riders: number;
  readonly holders: number;
  /** Milliseconds that the partners' receivers take for each answer. */
  readonly answerMs: number;
}

/** What its database takes at most, with room to spare. */
const NEEDED_BYTES = 4 * 1024 ** 3;
const MAIN = join(import.meta.dirname, "../../src/main.ts");

export async function openBadDaysWorld(options: BadDaysWorldOptions): Promise<BadDaysWorld> {
  const directory = await makeDatabaseDirectory("bikeshare-bad-days-", NEEDED_BYTES);
  // As root PostgreSQL runs under another account, which must be able to enter.
  await chmod(directory, 0o711);
  const dataDir = join(directory, "data");
  const postgres = await openEmbeddedPostgres({ dataDir, log: () => undefined });
  const secretsFile = join(directory, "secrets.json");
  const receiver = await startReceiver({ answerMs: options.answerMs });
  const system = await prepareSystem({ ...options, databaseUrl: postgres.connectionString, secretsFile, receiver });
  const env = {
    DATABASE_URL: postgres.connectionString,
    DATA_DIR: dataDir,
    SECRETS_FILE: secretsFile,
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
  };
  const balancer = await startBalancer();
  const apis: ServiceProcess[] = [];
  for (let n = 0; n < options.apis; n++) {
    const port = await findFreePort();
    balancer.add(`http://127.0.0.1:${port}`);
    apis.push(superviseService("api", { ...env, PORT: `${port}` }));
  }
  const workers = Array.from({ length: options.workers }, () => superviseService("worker", env));
  await Promise.all([...apis, ...workers].map((each) => each.untilUp()));
  await until(() => balancer.ready().length === apis.length);
  const postmaster = async () =>
    Number((await readFile(join(dataDir, "postgresql/data/postmaster.pid"), "utf8")).split("\n")[0]);
  return {
    balancer,
    system,
    receiver,
    apis,
    workers,
    postmaster,
    backends: async () => childrenOf(await postmaster()),
    async check() {
      const run = promisify(execFile)(process.execPath, ["--conditions=@bikeshare/source", MAIN, "check"], {
        env: { ...process.env, ...env },
      });
      return run.then(
        () => "",
        (error: unknown) => (error as { stdout?: string }).stdout ?? String(error),
      );
    },
    async close() {
      await Promise.all([...apis, ...workers].map((each) => each.stop()));
      await balancer.close();
      await receiver.close();
      await postgres.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Linux only. */
async function childrenOf(pid: number): Promise<number[]> {
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(processes.map((each) => readFile(`/proc/${each}/stat`, "utf8").catch(() => "")));
  // The parent is the second field after the name, which may hold spaces.
  const isChild = (stat: string) => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid;
  return processes.filter((_, index) => isChild(stats[index] ?? "")).map(Number);
}
