import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { setPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findFreePort } from "@bikeshare/embedded-postgres";

/** A service that the load test starts: its process, database and data. Stopping it deletes all of them. */
export interface OwnServer {
  readonly url: string;
  readonly metricsUrl: string;
  readonly pid: number;
  readonly directory: string;
  /** Starts a process that runs commands of `bikeshare` on the same data. */
  openCommandLine(): CommandLine;
  stop(): Promise<void>;
}

/** Runs commands one after another in one process, because starting a process takes as long as hundreds of commands. */
export interface CommandLine {
  /** Runs commands. @returns the JSON that each prints with `--json` */
  run(commands: readonly (readonly string[])[]): Promise<unknown[]>;
  close(): Promise<void>;
}

/** The server's main module. The load test starts it as a process, because an app must not import another app. */
const SERVER_MAIN = join(dirname(fileURLToPath(import.meta.resolve("@bikeshare/server/package.json"))), "src/main.ts");
const NODE_OPTIONS = ["--conditions=@bikeshare/source", SERVER_MAIN];
/** How much of the end of the server's log an error contains. */
const LOG_TAIL_CHARACTERS = 4000;
const STOP_TIMEOUT_MS = 30_000;
/**
 * The niceness of the server's process. Server and load test share the machine, and the load test must get the processor
 * first: otherwise requests would start late. This helps where the load test has no right to real-time scheduling.
 */
const SERVER_NICENESS = 19;

/**
 * Starts a service with an empty database, on free ports of the loopback interface.
 * @param niceness 0 if nothing is measured: with the highest niceness, a server on a busy machine waits for all other
 * processes
 */
export async function startOwnServer(niceness = SERVER_NICENESS): Promise<OwnServer> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-load-test-"));
  // If the load test runs as root, PostgreSQL runs under another account, which needs access to the directory.
  await chmod(directory, 0o711);
  const metricsPort = await findFreePort();
  const env = {
    ...inheritedEnvironment(),
    DATA_DIR: join(directory, "data"),
    HOST: "127.0.0.1",
    PORT: "0",
    METRICS_PORT: String(metricsPort),
    LOG_LEVEL: "error",
    LOG_FORMAT: "json",
    DRAIN_DELAY: "0s",
    // The receivers of the load test listen on free ports of this machine.
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1024-65535",
  };
  const child = spawn(process.execPath, [...NODE_OPTIONS, "serve", "--json"], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = async () => {
    await endProcess(child);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    if (child.pid !== undefined) setPriority(child.pid, niceness);
    const url = await readyUrl(child);
    return {
      url,
      metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
      pid: child.pid ?? 0,
      directory,
      stop,
      openCommandLine: () => openCommandLine(env),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openCommandLine(env: NodeJS.ProcessEnv): CommandLine {
  // `run -` reads commands from standard input, one JSON array of words on each line, and prints a line for each.
  const child = spawn(process.execPath, [...NODE_OPTIONS, "run", "-", "--json"], { env, stdio: "pipe" });
  const exited = once(child, "exit");
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-LOG_TAIL_CHARACTERS)));
  // Ignores errors of writing to a process that has ended. Its log shows the reason.
  child.stdin.on("error", () => undefined);
  const results = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run(commands) {
      for (const words of commands) child.stdin.write(`${JSON.stringify(words)}\n`);
      const printed: unknown[] = [];
      for (const words of commands) {
        const { value, done } = await results.next();
        if (done === true) throw new Error(`bikeshare ${words.slice(0, 2).join(" ")} failed:\n${log}`);
        printed.push(JSON.parse(value));
      }
      return printed;
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}

/**
 * Returns the environment variables that the server inherits. All others are omitted, because they may configure
 * another service, whose database a load test must not fill. By `npm_config_user_agent` the server notices when the
 * package manager that started it is gone.
 */
function inheritedEnvironment(): Record<string, string> {
  const names = ["PATH", "HOME", "TMPDIR", "NODE_COMPILE_CACHE", "npm_config_user_agent"];
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? ""] as const));
}

/** Returns the address from the server's first line of output. @throws with the end of its log if the server ends first */
async function readyUrl(child: ChildProcess): Promise<string> {
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-LOG_TAIL_CHARACTERS)));
  if (child.stdout === null) throw new Error("The server has no standard output.");
  const lines = createInterface({ input: child.stdout });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    child.once("error", reject);
    child.once("exit", (status) => reject(new Error(`The server ended with ${status} before it was ready:\n${log}`)));
  });
  return (JSON.parse(line) as { url: string }).url;
}

/** Ends a process: by SIGTERM or, if it takes too long, by SIGKILL. */
async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
