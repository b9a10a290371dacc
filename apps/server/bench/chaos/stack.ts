import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "@bikeshare/test-kit";
import { DEPLOYED, MAIN } from "../processes.ts";
import { type Balancer, BALANCER_ADDRESS, type BalancerName, startBalancer } from "./balancers.ts";
import { type Component, isListening, superviseProcess } from "./component.ts";
import type { PostgresPair } from "./postgres.ts";

/** A deployment on this machine: a balancer, three API processes, two workers, Redis, PostgreSQL with a standby. */
export interface Stack {
  readonly balancer: Balancer;
  /** The address of one API process, without the balancer. */
  readonly directUrl: string;
  readonly components: readonly Component[];
  close(): Promise<void>;
}

export interface StackOptions {
  readonly directory: string;
  readonly postgres: PostgresPair;
  readonly secretsFile: string;
  readonly balancer: BalancerName;
}

const API_PROCESSES = 3;
const WORKERS = 2;
/** Milliseconds before a restart: `RestartSec` of the units in deploy/systemd. */
const SERVICE_RESTART_DELAY_MS = 1_000;
/** Milliseconds before a restart: systemd's default, which Debian's Redis unit uses. */
const REDIS_RESTART_DELAY_MS = 100;

/** Starts the deployment on a PostgreSQL that runs already. `close` leaves that running. */
export async function startStack({ directory, postgres, secretsFile, balancer: name }: StackOptions): Promise<Stack> {
  const redisPort = await findFreePort();
  const env = {
    DATABASE_URL: postgres.primaryUrl,
    DATABASE_REPLICA_URL: postgres.standbyUrl,
    REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    DATA_DIR: directory,
    SECRETS_FILE: secretsFile,
    TRUSTED_PROXIES: BALANCER_ADDRESS,
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
    LOG_LEVEL: "silent",
    ...DEPLOYED,
  };
  const apiPorts: number[] = [];
  for (let n = 0; n < API_PROCESSES; n++) apiPorts.push(await findFreePort());
  const redis = await superviseRedis(redisPort, directory);
  const starting = [
    ...apiPorts.map((port, n) => superviseService("api", n + 1, { ...env, PORT: String(port) })),
    ...Array.from({ length: WORKERS }, (_, n) => superviseService("worker", n + 1, env)),
  ];
  /** Stops all processes but the balancer, also those that are starting. */
  const stopProcesses = async () => {
    const started = await Promise.allSettled(starting);
    await Promise.all(started.flatMap((each) => (each.status === "fulfilled" ? [each.value.stop()] : [])));
    await redis.stop();
  };
  try {
    const services = await Promise.all(starting);
    const balancer = await startBalancer(name, directory, apiPorts);
    return {
      balancer,
      directUrl: `http://127.0.0.1:${apiPorts[0]}`,
      components: [...services, redis, ...postgres.components],
      async close() {
        await balancer.close();
        await stopProcesses();
      },
    };
  } catch (error) {
    await stopProcesses();
    throw error;
  }
}

/** Starts one process of the service, as the systemd units run it. */
function superviseService(kind: "api" | "worker", n: number, env: Record<string, string>): Promise<Component> {
  return superviseProcess({
    name: `${kind}-${n}`,
    kind,
    restartDelayMs: SERVICE_RESTART_DELAY_MS,
    spawn: () =>
      spawn(process.execPath, ["--conditions=@bikeshare/source", MAIN, "serve", "--role", kind, "--json"], {
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "inherit"],
      }),
    ready: untilFirstLine,
  });
}

/** Waits for the first line of output, which `serve --json` writes when it is ready. */
function untilFirstLine(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new Error("its output is not read");
    createInterface({ input: child.stdout }).once("line", () => resolve());
    child.once("exit", (code) => reject(new Error(`a process of the service ended with ${code}`)));
  });
}

function superviseRedis(port: number, directory: string): Promise<Component> {
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--maxmemory-policy", "noeviction"];
  return superviseProcess({
    name: "redis",
    kind: "redis",
    restartDelayMs: REDIS_RESTART_DELAY_MS,
    spawn: () => spawn("redis-server", [...args, "--dir", directory], { stdio: "ignore" }),
    ready: (child) => untilListening(child, port),
  });
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  while (!(await isListening(port))) {
    if (child.pid === undefined) throw new Error("redis-server is not installed: apt-get install redis-server");
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}`);
    await sleep(5);
  }
}
