import { chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type EmbeddedPostgres, openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { makeDatabaseDirectory, serviceProgram } from "@bikeshare/test-kit";
import { type ServerProcess, startServer } from "../../../bench/processes.ts";
import { makeWorld } from "../../../bench/webhooks/world.ts";
import { type Database, openDatabase } from "../../../src/storage/db/database.ts";
import { isUnavailable } from "../../../src/storage/db/errors.ts";
import { statement } from "../../../src/storage/db/statement.ts";
import { loadSecrets } from "../../../src/storage/secrets/secrets.ts";
import { createSecretCipher } from "../../../src/webhooks/endpoints/secret.ts";
import { until } from "../../until.ts";

/** PostgreSQL, a receiver, a writer and workers, each in a separate process that tests can kill. */
export interface CrashWorld {
  readonly db: Database;
  readonly postgres: EmbeddedPostgres;
  /** Returns what the receiver has got so far: hashes of bodies, by delivery. */
  receipts(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Returns the ids of the events whose commit was acknowledged. */
  acknowledged(): Promise<string[]>;
  startWorker(): Promise<WorkerProcess>;
  startWriter(perSecond: number): Promise<void>;
  stopWriter(): Promise<void>;
  killPostgres(): Promise<void>;
  close(): Promise<void>;
}

export interface WorkerProcess {
  /** The name of the worker in the database. */
  readonly name: string;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** More bytes than the database needs. */
const NEEDED_BYTES = 8 * 1024 ** 3;

const here = import.meta.dirname;
const main = await serviceProgram();
const workerNames = statement("crash.workers", "select worker from webhook_workers where system_id = $1");

/** Opens the world. @param delay milliseconds that the receiver takes for each response */
export async function openCrashWorld(options: { readonly endpoints: number; readonly delay: number }) {
  const directory = await makeDatabaseDirectory("bikeshare-crash-", NEEDED_BYTES);
  // If the tests run as root, PostgreSQL runs under another account, which needs access to the directory.
  await chmod(directory, 0o711);
  const dataDir = join(directory, "data");
  const postgres = await openEmbeddedPostgres({ dataDir, log: () => undefined });
  const receiver = await startServer(join(here, "receiver.process.ts"), [String(options.delay)], {});
  const secretsFile = join(directory, "secrets.json");
  const { webhookKeys } = await loadSecrets(secretsFile, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
  const urls = Array.from({ length: options.endpoints }, (_, i) => `${receiver.firstLine}/hooks/${i}`);
  const made = await makeWorld(postgres.connectionString, createSecretCipher(webhookKeys), urls);
  await made.db.close();
  const db = patient(openDatabase({ connectionString: postgres.connectionString, onConnectionLost: () => undefined }));
  const receipts = new Map<string, string[]>();
  const written = join(directory, "acknowledged");
  const workers = new Set<ServerProcess>();
  let writer: ServerProcess | undefined;
  const env = {
    DATABASE_URL: postgres.connectionString,
    DATA_DIR: dataDir,
    SECRETS_FILE: secretsFile,
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
    LOG_LEVEL: "silent",
  };
  const world: CrashWorld = {
    db,
    postgres,
    async receipts() {
      const came = (await (await fetch(receiver.firstLine)).json()) as [string, string][];
      for (const [id, hash] of came) receipts.set(id, [...(receipts.get(id) ?? []), hash]);
      return receipts;
    },
    acknowledged: async () => (await readFile(written, "utf8")).split("\n").filter((id) => id !== ""),
    startWorker: () => startWorker(db, env, workers),
    async startWriter(perSecond) {
      const args = [postgres.connectionString, written, String(perSecond)];
      writer = await startServer(join(here, "writer.process.ts"), args, {});
    },
    async stopWriter() {
      await writer?.stop();
      writer = undefined;
    },
    killPostgres: () => killPostgres(dataDir),
    async close() {
      await writer?.stop();
      await Promise.all([...workers].map((worker) => worker.stop()));
      await db.close();
      await receiver.stop();
      await postgres.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return world;
}

/** Returns a database whose statements are repeated while the database is unreachable. */
function patient(db: Database): Database {
  const query: Database["query"] = async (asked, values) => {
    for (let left = 600; ; left--) {
      try {
        return await db.query(asked, values);
      } catch (error) {
        if (!isUnavailable(error) || left === 0) throw error;
        await setTimeout(50);
      }
    }
  };
  return { ...db, query };
}

/** Sends SIGKILL to the embedded PostgreSQL, and waits until it has ended. */
async function killPostgres(dataDir: string): Promise<void> {
  const pid = Number((await readFile(join(dataDir, "postgresql/data/postmaster.pid"), "utf8")).split("\n")[0]);
  process.kill(pid, "SIGKILL");
  // A zombie process keeps its pid until it is reaped, but has no command line.
  await until(async () => (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")) === "");
}

async function startWorker(
  db: Database,
  env: Record<string, string>,
  running: Set<ServerProcess>,
): Promise<WorkerProcess> {
  const names = async () => (await db.query<{ worker: string }>(workerNames, ["main"])).map(({ worker }) => worker);
  const before = new Set(await names());
  const server = await startServer(main, ["serve", "--role", "worker"], env);
  running.add(server);
  let name: string | undefined;
  await until(async () => {
    name = (await names()).find((each) => !before.has(each));
    return name !== undefined;
  });
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    running.delete(server);
    process.kill(server.pid, signal);
    await server.stop();
  };
  return { name: name ?? "", kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}
