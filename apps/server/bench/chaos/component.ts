import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** The kind of a killed component, for the report. */
export type ComponentKind = "api" | "worker" | "redis" | "primary" | "standby";

/** A component of the service that is killed and restarted. */
export interface Component {
  readonly name: string;
  readonly kind: ComponentKind;
  /** Kills the component with SIGKILL, and restarts it as its supervisor does. @returns milliseconds until it was ready */
  killAndRestart(): Promise<number>;
  /**
   * Stops the component gracefully, and starts it again: PostgreSQL at once, a process after its `restartDelayMs`.
   * @returns milliseconds until it was ready
   */
  restart(): Promise<number>;
  /** Returns the pids of the component's present processes. */
  pids(): Promise<readonly number[]>;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  readonly name: string;
  readonly kind: ComponentKind;
  /** Milliseconds before a restart: `RestartSec` of its systemd unit. */
  readonly restartDelayMs: number;
  readonly spawn: () => ChildProcess;
  /** Resolves when the process is ready. Rejects when the process ends first. */
  readonly ready: (child: ChildProcess) => Promise<void>;
}

/** Starts a process, and restarts it whenever it ends, as systemd does. */
export async function superviseProcess(options: ProcessOptions): Promise<Component> {
  const { name, kind, restartDelayMs, spawn, ready } = options;
  let isStopping = false;
  let child = spawn();
  /** Resolves when the process is ready again after its last end. */
  let serving = Promise.resolve();
  const startAgain = async (): Promise<void> => {
    while (!isStopping) {
      await sleep(restartDelayMs);
      child = spawn();
      const isReady = await ready(child).then(
        () => true,
        () => false,
      );
      if (isReady) return watch();
    }
  };
  const watch = () => {
    child.once("exit", () => {
      if (!isStopping) serving = startAgain();
    });
  };
  await ready(child);
  watch();
  return {
    name,
    kind,
    pids: () => Promise.resolve(child.pid === undefined || child.exitCode !== null ? [] : [child.pid]),
    // When `endOf` resolves, the listener of `watch` has set `serving`, because it was added first.
    async killAndRestart() {
      const from = performance.now();
      await endOf(child, "SIGKILL");
      await serving;
      return performance.now() - from;
    },
    async restart() {
      const from = performance.now();
      await endOf(child, "SIGTERM");
      await serving;
      return performance.now() - from;
    },
    async stop() {
      isStopping = true;
      await serving;
      await endOf(child, "SIGTERM");
    },
  };
}

/** Sends a signal to a process and waits for its end. Does nothing if the process has ended. */
async function endOf(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

/** Tells whether something listens on a local port. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
