import { type ChildProcess, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "@bikeshare/test-kit";
import { makeCertificate } from "../../test/servers/certificates.ts";
import { isListening } from "./component.ts";

/** A balancer of `deploy/`, in front of processes on this machine. */
export interface Balancer {
  readonly url: string;
  close(): Promise<void>;
}

export type BalancerName = "haproxy" | "nginx";

/**
 * The address from which the balancer connects to the processes. They trust only this address as a proxy, so other clients
 * can connect to them directly.
 */
export const BALANCER_ADDRESS = "127.0.0.2";
/** The directory of the examples, and where their programs are found. */
const EXAMPLES = join(import.meta.dirname, "../../../../deploy");
const SEARCH_PATH = { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` };

/** The values that replace addresses, paths and servers in an example of `deploy/`. */
interface Replacements {
  readonly directory: string;
  readonly https: number;
  readonly http: number;
  readonly ports: readonly number[];
}

/** Starts a balancer with the configuration of its example. */
export async function startBalancer(
  name: BalancerName,
  directory: string,
  ports: readonly number[],
): Promise<Balancer> {
  const replaced = { directory, ports, https: await findFreePort(), http: await findFreePort() };
  const { key, cert } = await makeCertificate("bikes.example.com");
  await writeFile(join(directory, "tls.pem"), cert);
  await writeFile(join(directory, "tls.key"), key);
  await writeFile(join(directory, "both.pem"), `${cert}\n${key}`);
  const file = join(directory, `${name}.conf`);
  await writeFile(file, await (name === "haproxy" ? haproxyConfiguration(replaced) : nginxConfiguration(replaced)));
  const args = name === "haproxy" ? ["-db", "-f", file] : ["-c", file, "-p", directory, "-e", "stderr"];
  const child = spawn(name, args, { env: SEARCH_PATH, stdio: ["ignore", "ignore", "pipe"] });
  const errorOutput: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (line: string) => errorOutput.push(line));
  const ended = untilEnded(child);
  while (!(await isListening(replaced.https))) {
    if (child.pid === undefined) throw new Error(`${name} is not installed: apt-get install ${name}`);
    if (child.exitCode !== null) throw new Error(`${name} ended: ${errorOutput.join("")}`);
    await sleep(5);
  }
  return {
    url: `https://127.0.0.1:${replaced.https}`,
    async close() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

function untilEnded(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
}

/**
 * Returns the example for HAProxy, with the addresses of this machine. `servers` replaces all servers of the example.
 */
async function haproxyConfiguration({ directory, https, http, ports }: Replacements): Promise<string> {
  const servers = ports.map((port, n) => `    server api${n + 1} 127.0.0.1:${port}`).join("\n");
  return (
    (await readFile(join(EXAMPLES, "haproxy/haproxy.cfg"), "utf8"))
      // Lowered, because each connection needs two file descriptors, and not every machine allows 40,000.
      .replace("maxconn 20000", "maxconn 8000")
      .replace("bind :443", `bind 127.0.0.1:${https}`)
      .replace("bind :80", `bind 127.0.0.1:${http}`)
      .replace("/etc/haproxy/tls/bikes.example.com.pem", join(directory, "both.pem"))
      .replace("default-server ", `default-server source ${BALANCER_ADDRESS} `)
      .replace(/(?: {4}server api\d .*\n?)+/, `${servers}\n`)
  );
}

/** Returns the example for nginx, with the addresses of this machine. `servers` replaces all servers of the example. */
async function nginxConfiguration({ directory, https, http, ports }: Replacements): Promise<string> {
  const servers = ports.map((port) => `    server 127.0.0.1:${port} max_fails=2 fail_timeout=1s;`).join("\n");
  const site = (await readFile(join(EXAMPLES, "nginx/bikeshare.conf"), "utf8"))
    .replaceAll(/ +listen \[::\].*\n/g, "")
    .replace("listen 443", `listen 127.0.0.1:${https}`)
    .replace("listen 80", `listen 127.0.0.1:${http}`)
    .replace(/(?: {4}server 127[.]0[.]0[.]1:300\d .*\n)+/, `${servers}\n`)
    .replaceAll("/etc/nginx/tls/bikes.example.com", join(directory, "tls"))
    .replaceAll("/var/log/nginx", directory)
    .replace("proxy_http_version", `proxy_bind ${BALANCER_ADDRESS};\n    proxy_http_version`);
  // nginx's default directories for temporary files belong to the system.
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = temporary.map((name) => `${name}_temp_path ${join(directory, name)};`).join(" ");
  const events = "events { worker_connections 8000; }";
  return `pid ${directory}/pid; daemon off; error_log stderr crit; ${events} http { ${paths}\n${site}\n}`;
}
