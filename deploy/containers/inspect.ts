/* Checks a running container: its rights, its health, its responses. */
import assert from "node:assert/strict";
import type { Engine } from "./engine.ts";

/** Milliseconds to wait for a state. Long, for busy machines. */
const STATE_TIMEOUT_MS = 120_000;

/** Returns the operator's key that commands have printed. */
export function keyIn(output: string): string {
  const [key] = /bss_operator_\w+/.exec(output) ?? [];
  assert.ok(key !== undefined, `no operator's key in: ${output}`);
  return key;
}

/** Sends a request as a proxy forwards it after receiving it over TLS. @returns the body, and the status as its last line */
export async function ask(engine: Engine, port: number, key: string, path: string, body?: object): Promise<string> {
  const headers = [`Authorization: Bearer ${key}`, "X-Forwarded-Proto: https", "X-Forwarded-For: 198.51.100.7"];
  const sent = body === undefined ? "" : `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
  const options = headers.map((header) => `-H '${header}'`).join(" ");
  return engine.run(`curl -sS -w '\\n%{http_code}' ${options} ${sent} http://127.0.0.1:${port}${path}`);
}

/** Reports a station, bike or ride, and expects the service to accept it. */
export async function report(engine: Engine, port: number, key: string, path: string, item: object): Promise<void> {
  const answer = await ask(engine, port, key, `/operator/v1/${path}`, { items: [item] });
  assert.match(answer, /"outcome":"(?:created|updated|unchanged)"[^]*\n200$/);
}

/** Expects 403 for a request that came over plain HTTP: without the headers of a proxy. */
export async function plainRequestIsRefused(engine: Engine, port: number): Promise<void> {
  const status = await engine.run(
    `curl -sS -o ${engine.root}/answer -w '%{http_code}' http://127.0.0.1:${port}/v1/stations`,
  );
  assert.equal(status, "403");
}

/**
 * Expects that the service runs as account 10001 without any capability, cannot gain one, has its system calls filtered
 * (Seccomp 2), and cannot write files of the image.
 */
export async function isConfined(engine: Engine, container: string): Promise<void> {
  const main = await mainProcess(engine, container);
  const status = await engine.run(`cat /proc/${main}/status`);
  assert.match(status, /^Uid:\t10001\t10001\t10001\t10001$/m);
  for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\t0{16}$`, "m"));
  assert.match(status, /^NoNewPrivs:\t1$/m);
  assert.match(status, /^Seccomp:\t2$/m);
  const written = await engine.run(
    `docker exec ${container} sh -c 'for path in /x /app/x /usr/local/bin/x /etc/x; do touch $path 2>&1 || true; done'`,
  );
  assert.equal(written.match(/Read-only file system/g)?.length, 4);
}

/** Returns the pid of the service's process in the engine's namespace: the child of tini. */
export async function mainProcess(engine: Engine, container: string): Promise<number> {
  const tini = await engine.run(`docker inspect --format '{{.State.Pid}}' ${container}`);
  const children = await engine.run(`cat /proc/${tini}/task/${tini}/children`);
  const [main = ""] = children.split(" ");
  assert.match(await engine.run(`tr '\\0' ' ' < /proc/${main}/cmdline`), /^node /);
  return Number(main);
}

/** Waits until Docker finds a container in this state of health. */
export async function becomes(engine: Engine, container: string, health: "healthy" | "unhealthy"): Promise<void> {
  const command = `[ "$(docker inspect --format '{{.State.Health.Status}}' ${container})" = ${health} ]`;
  await engine.until(command, STATE_TIMEOUT_MS);
}

/** Kills the service's process as `kill -9` does, and waits until Docker has started it again. */
export async function killedIsRestarted(engine: Engine, container: string): Promise<void> {
  const before = await restarts(engine, container);
  await engine.run(`kill -9 ${await mainProcess(engine, container)}`);
  await engine.until(`[ "$(docker inspect --format '{{.RestartCount}}' ${container})" -gt ${before} ]`, 30_000);
  await becomes(engine, container, "healthy");
}

async function restarts(engine: Engine, container: string): Promise<number> {
  return Number(await engine.run(`docker inspect --format '{{.RestartCount}}' ${container}`));
}

/** Expects that a worker has made a backup, and that it can be restored. The commands are those of docs/containers.md. */
export async function backupIsGood(engine: Engine, container: string): Promise<void> {
  await engine.until(`docker exec ${container} sh -c 'ls /backups/*.zip'`, STATE_TIMEOUT_MS);
  const script = 'TMPDIR=/backups bikeshare backup verify "$(ls -t /backups/*.zip | head -n 1)"';
  assert.match(await engine.run(`docker exec ${container} sh -c '${script}'`), /is good/);
}
