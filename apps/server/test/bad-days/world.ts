import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { childrenOf, openReceiver, type PreparedSystem, type Receiver } from "@bikeshare/load";
import { findFreePort, makeDatabaseDirectory } from "@bikeshare/test-kit";
import { brokenInvariants } from "../../bench/processes.ts";
import { prepareSystem } from "../../bench/workload/prepare.ts";
import { type Balancer, startBalancer } from "../servers/balancer.ts";
import { until } from "../until.ts";
import { type ServiceProcess, superviseService } from "./service-process.ts";

/** A deployment of which tests may kill any process: API processes behind a load balancer, workers, PostgreSQL. */
export interface BadDaysWorld {
  readonly balancer: Balancer;
  readonly system: PreparedSystem;
  readonly receiver: Receiver;
  readonly apis: readonly ServiceProcess[];
  readonly workers: readonly ServiceProcess[];
  readonly databaseUrl: string;
  /** Returns the log of all processes of the service as lines of JSON, from `warn` up. Needs `isLogged`. */
  log(): Promise<string>;
  /** Returns the pid of PostgreSQL's main process. */
  postmaster(): Promise<number>;
  /** Returns the pids of PostgreSQL's other processes: those of connections and of background work. */
  backends(): Promise<readonly number[]>;
  /** Returns the violations that `bikeshare check` finds; empty: every invariant holds. */
  check(): Promise<string>;
  close(): Promise<void>;
}

export interface BadDaysWorldOptions {
  readonly apis: number;
  readonly workers: number;
  readonly riders: number;
  readonly holders: number;
  /** Milliseconds that the partners' webhook receivers take for each response. */
  readonly answerMs: number;
  /** The directory of the database and the log. Default: a new one, which is removed at the end. */
  readonly directory?: string;
  /** Default: an embedded PostgreSQL in `directory`. */
  readonly database?: { readonly connectionString: string; close(): Promise<void> };
  /** Returns additional environment variables for the n-th process of a role, counted from 0. */
  readonly envOf?: (role: ServiceProcess["role"], n: number) => Readonly<Record<string, string>>;
  readonly isLogged?: boolean;
}

/** More bytes than the database needs. */
const NEEDED_BYTES = 4 * 1024 ** 3;

export async function openBadDaysWorld(options: BadDaysWorldOptions): Promise<BadDaysWorld> {
  const { envOf = () => ({}), isLogged = false } = options;
  const directory = options.directory ?? (await makeDatabaseDirectory("bikeshare-bad-days-", NEEDED_BYTES));
  // If the tests run as root, PostgreSQL runs under another account, which needs access to the directory.
  await chmod(directory, 0o711);
  const dataDir = join(directory, "data");
  const postgres = options.database ?? (await openEmbeddedPostgres({ dataDir, log: () => undefined }));
  const secretsFile = join(directory, "secrets.json");
  const receiver = await openReceiver({ answerMs: options.answerMs });
  const system = await prepareSystem({ ...options, databaseUrl: postgres.connectionString, secretsFile, receiver });
  const env = {
    DATABASE_URL: postgres.connectionString,
    DATA_DIR: dataDir,
    SECRETS_FILE: secretsFile,
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
  };
  const logFile = isLogged ? join(directory, "service.log") : undefined;
  const balancer = await startBalancer();
  const apis: ServiceProcess[] = [];
  for (let n = 0; n < options.apis; n++) {
    const port = await findFreePort();
    balancer.add(`http://127.0.0.1:${port}`);
    apis.push(superviseService("api", { ...env, PORT: `${port}`, ...envOf("api", n) }, logFile));
  }
  const workers = Array.from({ length: options.workers }, (_, n) =>
    superviseService("worker", { ...env, ...envOf("worker", n) }, logFile),
  );
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
    databaseUrl: postgres.connectionString,
    log: () => (logFile === undefined ? Promise.resolve("") : readFile(logFile, "utf8")),
    postmaster,
    backends: async () => childrenOf(await postmaster()),
    check: () => brokenInvariants(env),
    async close() {
      await Promise.all([...apis, ...workers].map((each) => each.stop()));
      await balancer.close();
      await receiver.close();
      await postgres.close();
      if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}
