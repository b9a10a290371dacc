import { execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";

/*
 * What benches start and read: servers in separate processes, an empty PostgreSQL, `bikeshare check`, and the
 * description of the machine.
 */

/** A server in a separate process. */
export interface ServerProcess {
  readonly pid: number;
  /** The first line that the server wrote to stdout. */
  readonly firstLine: string;
  readonly stop: () => Promise<void>;
}

/** Starts a program and waits for its first line of output. */
export async function startServer(
  script: string,
  args: readonly string[],
  env: Record<string, string>,
  stderr: "inherit" | "ignore" = "inherit",
): Promise<ServerProcess> {
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", script, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", stderr],
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  const firstLine = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
  if (child.pid === undefined) throw new Error(`${script} did not start`);
  return {
    pid: child.pid,
    firstLine,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** The environment with which the examples in deploy/ run the service. */
export const DEPLOYED = { NODE_OPTIONS: "--max-semi-space-size=8", MALLOC_ARENA_MAX: "2" } as const;

/** The program of this checkout. */
export const MAIN = join(import.meta.dirname, "../src/main.ts");

/**
 * Starts the service, at a free port unless `env` has a `PORT`.
 * @param args options of `serve`
 * @param main the path of main.ts, which may be in another checkout
 */
export async function serve(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  main = MAIN,
): Promise<ServerProcess & { readonly url: string }> {
  // No drain delay, because no load balancer has to notice the stop.
  const defaults = { ...DEPLOYED, PORT: "0", LOG_LEVEL: "error", DRAIN_DELAY: "0s" };
  const server = await startServer(main, ["serve", "--json", ...args], { ...defaults, ...env });
  return { ...server, url: (JSON.parse(server.firstLine) as { url: string }).url };
}

/**
 * Returns the violations that `bikeshare check` finds; empty: every invariant holds.
 * @param args options that are written before the command, such as `--system`
 */
export function brokenInvariants(env: Readonly<Record<string, string>>, args: readonly string[] = []): Promise<string> {
  const words = ["--conditions=@bikeshare/source", MAIN, ...args, "check"];
  // The command prints violations, and then fails.
  return promisify(execFile)(process.execPath, words, { env: { ...process.env, ...env } }).then(
    () => "",
    (error: unknown) => (error as { stdout?: string }).stdout || String(error),
  );
}

/** Runs `work` in a new temporary directory, which PostgreSQL's account may enter even if it is another account. */
export async function inDirectory<Result>(work: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
  await chmod(directory, 0o711);
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs `work` with a new, empty PostgreSQL server. */
export function onPostgres<Result>(
  work: (stage: { readonly directory: string; readonly connectionString: string }) => Promise<Result>,
): Promise<Result> {
  return inDirectory(async (directory) => {
    const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
    try {
      return await work({ directory, connectionString: postgres.connectionString });
    } finally {
      await postgres.close();
    }
  });
}

/** Describes the machine, on which the figures depend. */
export function describeMachine(): string {
  return `${cpus().length} cores, load before ${loadavg()[0]?.toFixed(2)}, Node ${process.versions.node}`;
}

/** Prints a line of the report. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
