import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { serviceProgram } from "@bikeshare/test-kit";

/** `serve` in a separate process that is restarted whenever it ends, as systemd and Kubernetes do. */
export interface ServiceProcess {
  readonly role: "api" | "worker";
  /** The pid of the running process; undefined while none runs. */
  pid(): number | undefined;
  /** The address of the API process; undefined for a worker, and while the process is not ready. */
  url(): string | undefined;
  /** How often the process ended without having been stopped. */
  endedCount(): number;
  /** Resolves when the process is ready, for the first time or again. */
  untilUp(): Promise<void>;
  stop(): Promise<void>;
}

const MAIN = await serviceProgram();
/** Milliseconds before a restart. */
const RESTART_DELAY_MS = 200;

/**
 * @param env the environment of the process; with `PORT`, so that an API process keeps its address
 * @param logFile gets the lines of its log from `warn` up
 */
export function superviseService(
  role: "api" | "worker",
  env: Readonly<Record<string, string>>,
  logFile?: string,
): ServiceProcess {
  const logging = logFile === undefined ? { LOG_LEVEL: "silent" } : { LOG_LEVEL: "warn", LOG_FORMAT: "json" };
  let child: ChildProcess | undefined;
  let url: string | undefined;
  let isUp = false;
  let isStopping = false;
  let ended = 0;
  let up = Promise.withResolvers<void>();
  const live = async () => {
    const log = logFile === undefined ? undefined : openSync(logFile, "a");
    child = spawn(process.execPath, ["--conditions=@bikeshare/source", MAIN, "--json", "serve", "--role", role], {
      env: { ...process.env, ...logging, ...env },
      stdio: ["ignore", "pipe", log ?? "ignore"],
    });
    // The child has its own copy of the file descriptor now.
    if (log !== undefined) closeSync(log);
    const exited = once(child, "exit");
    const started = child;
    if (started.stdout === null) throw new Error("a pipe was asked for");
    createInterface({ input: started.stdout }).once("line", (line) => {
      // The process may have ended before its line is read.
      if (child !== started) return;
      url = (JSON.parse(line) as { url: string | null }).url ?? undefined;
      isUp = true;
      up.resolve();
    });
    await exited;
    if (isUp) up = Promise.withResolvers<void>();
    isUp = false;
    child = undefined;
  };
  const supervise = async () => {
    while (!isStopping) {
      await live();
      if (isStopping) return;
      ended++;
      await setTimeout(RESTART_DELAY_MS);
    }
  };
  const supervising = supervise();
  return {
    role,
    pid: () => (isUp ? child?.pid : undefined),
    url: () => (isUp ? url : undefined),
    endedCount: () => ended,
    untilUp: () => up.promise,
    async stop() {
      isStopping = true;
      child?.kill("SIGTERM");
      await supervising;
    },
  };
}
