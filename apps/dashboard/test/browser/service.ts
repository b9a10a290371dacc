import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { makeDatabaseDirectory, serviceProgram } from "@bikeshare/test-kit";

const ROOT = join(import.meta.dirname, "../../../..");
const CONDITION = "--conditions=@bikeshare/source";
const SOURCES = [CONDITION, join(ROOT, "apps/server/bikeshare.mjs")];

/** More bytes than the data directory of these tests needs. */
const NEEDED_BYTES = 2 * 1024 ** 3;

/** A service in a separate process, as in production. */
export interface Service {
  readonly url: string;
  readonly dataDir: string;
  stop(): Promise<void>;
}

/** Starts `serve` with an empty data directory and a free port, or as another process of a running service. */
export async function startService(
  options: { readonly dataDir?: string; readonly port?: string } = {},
): Promise<Service> {
  const dataDir = options.dataDir ?? (await makeDataDir());
  const child = spawn(process.execPath, [...SOURCES, "serve", "--json"], {
    cwd: ROOT,
    env: { ...environment(dataDir), PORT: options.port ?? "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  createInterface(child.stderr).on("line", (line) => lines.push(line));
  const ended = once(child, "exit");
  const [first] = (await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(() => Promise.reject(new Error(`serve ended before it was ready:\n${lines.join("\n")}`))),
  ])) as [string];
  const { url } = JSON.parse(first) as { readonly url: string };
  return {
    url,
    dataDir,
    async stop() {
      child.kill();
      await ended;
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function makeDataDir(): Promise<string> {
  const dataDir = await makeDatabaseDirectory("bikeshare-browser-", NEEDED_BYTES);
  // If the tests run as root, PostgreSQL runs under another account, which needs access to the directory.
  await chmod(dataDir, 0o711);
  return dataDir;
}

/** Runs a command of `bikeshare` on the data of the running service. @returns its JSON */
export async function command(dataDir: string, ...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const program = [CONDITION, await serviceProgram()];
  const { stdout } = await promisify(execFile)(process.execPath, [...program, ...args, "--json"], {
    cwd: ROOT,
    // Links are not made for port 0. Tests use only the part after `#`.
    env: { ...environment(dataDir), PORT: "" },
    maxBuffer: 16 * 1024 * 1024,
  });
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

const RUN_STATEMENT = `
  import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
  import pg from "pg";
  const { connectionString, close } = await openEmbeddedPostgres({ dataDir: process.env.DATA_DIR, log() {} });
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(process.argv[1]);
  await client.end();
  await close();
`;

/**
 * Runs an SQL statement in the service's database, for changes that no interface offers, such as moving a time into the
 * past.
 */
export async function runStatement(dataDir: string, statement: string): Promise<void> {
  const options = ["--conditions=@bikeshare/source", "--input-type=module", "--eval", RUN_STATEMENT];
  await promisify(execFile)(process.execPath, [...options, statement], {
    cwd: join(ROOT, "apps/server"),
    env: environment(dataDir),
  });
}

/** Returns the environment variables of a service for these tests, on a free port. */
export function environment(dataDir: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: "0",
    // No delay before a stop, because no proxy needs time to notice it.
    DRAIN_DELAY: "0s",
    LOG_LEVEL: "warn",
    // A high limit, because the requests of all tests come from one address.
    PUBLIC_RATE_LIMIT_PER_MINUTE: "100000",
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1024-65535",
  };
}
