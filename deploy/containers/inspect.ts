/* What can be seen of a running container: its rights, its health, its answers. */
import assert from "node:assert/strict";
import type { Engine } from "./engine.ts";

/** Generous, for a busy machine: states are waited for. */
const STATE_TIMEOUT_MS = 120_000;

export function keyIn(output: string): string {
  const [key] = /bss_operator_\w+/.exec(output) ?? [];
  assert.ok(key !== undefined, `no operator's key in: ${output}`);
  return key;
}

/** A request as a proxy passes it on that has got it over TLS. @returns the status and the body */
export async function ask(engine: Engine, port: number, key: string, path: string, body?: object): Promise<string> {
  const headers = [`Authorization: Bearer ${key}`, "X-Forwarded-Proto: https", "X-Forwarded-For: 198.51.100.7"];
  const sent = body === undefined ? "" : `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
  const options = headers.map((header) => `-H '${header}'`).join(" ");
  return engine.run(`curl -sS -w '\\n%{http_code}' ${options} ${sent} http://127.0.0.1:${port}${path}`);
}

/** Reports something of the operator's fleet, which must be taken as new or changed. */
export async function report(engine: Engine, port: number, key: string, path: string, item: object): Promise<void> {
  const answer = await ask(engine, port, key, `/operator/v1/${path}`, { items: [item] });
  assert.match(answer, /"outcome":"(?:created|updated|unchanged)"[^]*\n200$/);
}

export async function plainRequestIsRefused(engine: Engine, port: number): Promise<void> {
  const status = await engine.run(
    `curl -sS -o ${engine.root}/answer -w '%{http_code}' http://127.0.0.1:${port}/v1/stations`,
  );
  assert.equal(status, "403");
}

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

/** The service's own process, as the engine's processes see it: tini's child. */
export async function mainProcess(engine: Engine, container: string): Promise<number> {
  const tini = await engine.run(`docker inspect --format '{{.State.Pid}}' ${container}`);
  const children = await engine.run(`cat /proc/${tini}/task/${tini}/children`);
  const [main = ""] = children.split(" ");
  assert.match(await engine.run(`tr '\\0' ' ' < /proc/${main}/cmdline`), /^node /);
  return Number(main);
}

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

/** A worker has made a backup by itself, which can be restored. The commands are those of the page. */
export async function backupIsGood(engine: Engine, container: string): Promise<void> {
  await engine.until(`docker exec ${container} sh -c 'ls /backups/*.zip'`, STATE_TIMEOUT_MS);
  const script = 'TMPDIR=/backups bikeshare backup verify "$(ls -t /backups/*.zip | head -n 1)"';
  assert.match(await engine.run(`docker exec ${container} sh -c '${script}'`), /is good/);
}
