import { type ChildProcess, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "@bikeshare/embedded-postgres";
import { makeCertificate } from "../../test/servers/certificates.ts";
import { isListening } from "./component.ts";

/** The balancer of `deploy/haproxy`, in front of processes on this machine. */
export interface Haproxy {
  readonly url: string;
  readonly pid: number;
  close(): Promise<void>;
}

/** The address from which the balancer calls the processes, so that others can call them past it. */
export const BALANCER_ADDRESS = "127.0.0.2";
const EXAMPLE = join(import.meta.dirname, "../../../../deploy/haproxy/haproxy.cfg");
const SEARCH_PATH = { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` };

/** Starts HAProxy with the configuration of the example, but for its addresses, paths and servers. */
export async function startHaproxy(directory: string, ports: readonly number[]): Promise<Haproxy> {
  const [https, http] = [await findFreePort(), await findFreePort()];
  const { key, cert } = await makeCertificate("bikes.example.com");
  const pem = join(directory, "haproxy.pem");
  await writeFile(pem, `${cert}\n${key}`);
  const servers = ports.map((port, n) => `    server api${n + 1} 127.0.0.1:${port}`).join("\n");
  const text = (await readFile(EXAMPLE, "utf8"))
    // Two files for each connection; not every machine grants 40,000.
    .replace("maxconn 20000", "maxconn 8000")
    .replace("bind :443", `bind 127.0.0.1:${https}`)
    .replace("bind :80", `bind 127.0.0.1:${http}`)
    .replace("/etc/haproxy/tls/bikes.example.com.pem", pem)
    .replace("default-server ", `default-server source ${BALANCER_ADDRESS} `)
    .replace(/(?: {4}server api\d .*\n?)+/, `${servers}\n`);
  const file = join(directory, "haproxy.cfg");
  await writeFile(file, text);
  const child = spawn("haproxy", ["-db", "-f", file], { env: SEARCH_PATH, stdio: ["ignore", "ignore", "pipe"] });
  const said: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (line: string) => said.push(line));
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const pid = pidOf(child);
  while (!(await isListening(https))) {
    if (child.exitCode !== null) throw new Error(`haproxy ended: ${said.join("")}`);
    await sleep(5);
  }
  return {
    url: `https://127.0.0.1:${https}`,
    pid,
    async close() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error("haproxy is not installed: apt-get install haproxy");
  return pid;
}
