import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "@bikeshare/test-kit";
import { Redis } from "ioredis";
import { until } from "../until.ts";
import { makeCertificate } from "./certificates.ts";

/** A Redis or Valkey server for one test, on loopback. It has no persistence, so it starts empty. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** The file with the CA of its certificate; only with TLS. */
  readonly authorityFile: string;
  command(name: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** Kills the server, as a crash does. */
  kill(): Promise<void>;
  /** The directory of the server's files. */
  readonly directory: string;
  /** Starts the server again, empty, at the same port. */
  restart(...settings: readonly string[]): Promise<void>;
  /** Suspends the server: it answers nothing and closes nothing. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

/** TEST_REDIS_PROGRAM names another Redis or Valkey than the installed one. */
const chosenProgram = process.env["TEST_REDIS_PROGRAM"];
const installedProgram = ["redis-server", "valkey-server"]
  .flatMap((name) => (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, name)))
  .find((path) => existsSync(path));
const redisProgram = chosenProgram ?? installedProgram;

/** Whether tests can start a Redis server. `WITH_REDIS` is added to the titles of tests that are skipped without one. */
export const hasRedis = redisProgram !== undefined;
export const WITH_REDIS = hasRedis ? "" : " (skipped: no redis-server or valkey-server on this machine)";

/** Starts a server. @param options.isEncrypted whether it uses TLS, with a certificate for 127.0.0.1 */
export async function startRedis(options: { readonly isEncrypted?: boolean } = {}): Promise<RedisServer> {
  const { isEncrypted = false } = options;
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-redis-"));
  const files = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  const port = await findFreePort();
  const tls = ["--port", "0", "--tls-port", `${port}`, "--tls-auth-clients", "no"];
  if (isEncrypted) {
    const { cert, key } = await makeCertificate("127.0.0.1");
    await Promise.all([writeFile(files.cert, cert), writeFile(files.key, key)]);
    tls.push("--tls-cert-file", files.cert, "--tls-key-file", files.key, "--tls-ca-cert-file", files.cert);
  }
  const listening = isEncrypted ? tls : ["--port", `${port}`];
  const control = new Redis({
    port,
    host: "127.0.0.1",
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    ...(isEncrypted && { tls: { rejectUnauthorized: false } }),
  });
  control.on("error", () => undefined);
  let child: ChildProcess | undefined;
  const start = async (...settings: readonly string[]) => {
    const args = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory, ...listening];
    child = spawn(redisProgram ?? "", [...args, ...settings], { stdio: "ignore" });
    await until(async () => {
      if (control.status !== "ready") await control.connect().catch(() => undefined);
      return control.status === "ready" && (await control.ping().catch(() => "")) === "PONG";
    });
  };
  const kill = async () => {
    if (child === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    child = undefined;
    control.disconnect();
  };
  await start();
  return {
    port,
    directory,
    url: `redis${isEncrypted ? "s" : ""}://127.0.0.1:${port}`,
    authorityFile: files.cert,
    command: (name, ...args) => control.call(name, ...args),
    kill,
    restart: start,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    close: async () => {
      control.disconnect();
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Starts a proxy that delays the responses of a server. The delay and the server's port can be changed at any time. */
export async function startDelay(
  port: number,
): Promise<{ readonly url: string; delayMs: number; port: number; close(): void }> {
  const server = createServer((inner) => {
    const outer = connect(delay.port, "127.0.0.1");
    inner.pipe(outer);
    outer.on("data", (part: Buffer) => void sleep(delay.delayMs).then(() => inner.write(part)));
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const delay = {
    url: `redis://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    delayMs: 0,
    port,
    close: () => void server.close(),
  };
  return delay;
}
