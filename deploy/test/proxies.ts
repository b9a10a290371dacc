import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@bikeshare/test-kit";
import { generate } from "selfsigned";
import { end } from "./packed-server.ts";

/** The address from which the proxies call the service. The demo's own simulator calls it from 127.0.0.1. */
export const PROXY_ADDRESS = "127.0.0.2";

/**
 * An address that the proxies take for one of another network. Of this machine's addresses, only 127.0.0.1 counts as one of
 * the internal network.
 */
export const OUTSIDE_ADDRESS = "127.0.0.3";

/** A proxy with the configuration of the example, with other paths and ports. */
export interface Proxy {
  readonly httpsPort: number;
  readonly httpPort: number;
  close(): Promise<void>;
}

const example = (path: string) => readFileSync(join(import.meta.dirname, "..", path), "utf8");

/**
 * Tells whether a program of a Debian package is installed. Also looks in directories that are not in every account's PATH.
 */
export function isInstalled(program: string): boolean {
  try {
    execFileSync("which", [program], { env: searchPath, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export const searchPath = { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` };

/**
 * Checks the example with `nginx -t`, and runs it in front of a service. The addresses of the processes are replaced
 * before the proxy's own ports, which may begin with the same digits.
 */
export async function startNginx(serviceUrl: string): Promise<Proxy> {
  return startProxy(serviceUrl, async ({ directory, httpsPort, httpPort, service }) => {
    const site = example("nginx/bikeshare.conf")
      .replaceAll(/127[.]0[.]0[.]1:300\d/g, service)
      .replace("allow 127.0.0.0/8", "allow 127.0.0.1")
      .replaceAll(/ +listen \[::\].*\n/g, "")
      .replace("listen 443", `listen 127.0.0.1:${httpsPort}`)
      .replace("listen 80", `listen 127.0.0.1:${httpPort}`)
      .replaceAll("/etc/nginx/tls/bikes.example.com", join(directory, "tls"))
      .replaceAll("/var/log/nginx", directory)
      .replace("proxy_http_version", `proxy_bind ${PROXY_ADDRESS};\n    proxy_http_version`);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const paths = temporary.map((name) => `${name}_temp_path ${join(directory, name)};`).join(" ");
    const file = join(directory, "nginx.conf");
    const main = `pid ${directory}/pid; daemon off; error_log stderr; events {} http { ${paths}\n${site}\n}`;
    await writeFile(file, main);
    const args = ["-c", file, "-p", directory, "-e", "stderr"];
    execFileSync("nginx", ["-t", ...args], { env: searchPath, stdio: "pipe" });
    return spawn("nginx", args, { env: searchPath, stdio: "ignore" });
  });
}

/**
 * Checks the example with `haproxy -c`, and runs it in front of a service. `startNginx` explains the order of the
 * replacements.
 */
export async function startHaproxy(serviceUrl: string): Promise<Proxy> {
  return startProxy(serviceUrl, async ({ directory, httpsPort, httpPort, service }) => {
    const text = example("haproxy/haproxy.cfg")
      .replaceAll(/127[.]0[.]0[.]1:300\d/g, service)
      .replace("127.0.0.0/8", "127.0.0.1")
      .replace("maxconn 20000", "maxconn 1000")
      .replace("bind :443", `bind 127.0.0.1:${httpsPort}`)
      .replace("bind :80", `bind 127.0.0.1:${httpPort}`)
      .replace("/etc/haproxy/tls/bikes.example.com.pem", join(directory, "both.pem"))
      .replace("default-server check", `default-server source ${PROXY_ADDRESS} check`);
    const file = join(directory, "haproxy.cfg");
    await writeFile(file, text);
    execFileSync("haproxy", ["-c", "-f", file], { env: searchPath, stdio: "pipe" });
    return spawn("haproxy", ["-db", "-f", file], { env: searchPath, stdio: "ignore" });
  });
}

interface ProxySetup {
  readonly directory: string;
  readonly httpsPort: number;
  readonly httpPort: number;
  /** Host and port of the service. */
  readonly service: string;
}

async function startProxy(serviceUrl: string, start: (setup: ProxySetup) => Promise<ChildProcess>): Promise<Proxy> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-proxy-"));
  const { private: key, cert } = await generate([{ name: "commonName", value: "bikes.example.com" }], {
    keySize: 2048,
  });
  for (const [name, text] of [
    ["tls.pem", cert],
    ["tls.key", key],
    ["both.pem", `${cert}\n${key}`],
  ] as const) {
    await writeFile(join(directory, name), text);
  }
  const setup = { directory, httpsPort: await findFreePort(), httpPort: await findFreePort() };
  const child = await start({ ...setup, service: new URL(serviceUrl).host });
  await once(child, "spawn");
  return {
    ...setup,
    async close() {
      await end(child);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
