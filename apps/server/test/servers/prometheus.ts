import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@bikeshare/test-kit";

const deployed = join(import.meta.dirname, "../../../../deploy/prometheus");

export const hasPrometheus = isInstalled();
/** Added to the titles of tests that are skipped without Prometheus. */
export const WITH_PROMETHEUS = hasPrometheus ? "" : " (skipped: prometheus is not installed)";

/** A Prometheus server with the configuration and rules of deploy/prometheus. */
export interface PrometheusServer {
  /** Calls Prometheus's API. @returns the `data` of the response */
  ask<Data>(path: string, parameters?: Readonly<Record<string, string>>): Promise<Data>;
  close(): Promise<void>;
}

/** Starts Prometheus. @param targets hosts and ports, which it scrapes every second */
export async function startPrometheus(targets: readonly string[]): Promise<PrometheusServer> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-prometheus-"));
  const read = (name: string) => readFile(join(deployed, name), "utf8");
  await writeFile(join(directory, "alerts.yml"), await read("alerts.yml"));
  const config = (await read("prometheus.yml"))
    .replaceAll("interval: 15s", "interval: 1s")
    .replace(/targets: \["a:.*\]/, `targets: ${JSON.stringify(targets)}`);
  await writeFile(join(directory, "prometheus.yml"), config);
  const address = `127.0.0.1:${await findFreePort()}`;
  const options = {
    ...{ "config.file": join(directory, "prometheus.yml"), "storage.tsdb.path": join(directory, "data") },
    ...{ "web.listen-address": address, "enable-feature": "exemplar-storage", "log.level": "error" },
  };
  const child = spawn(
    "prometheus",
    Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    { stdio: "ignore" },
  );
  const exited = once(child, "exit");
  await once(child, "spawn");
  return {
    async ask<Data>(path: string, parameters: Readonly<Record<string, string>> = {}) {
      const response = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
      const body = (await response.json()) as { readonly data?: Data; readonly error?: string };
      if (body.data === undefined) throw new Error(body.error);
      return body.data;
    },
    async close() {
      child.kill("SIGKILL");
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function isInstalled(): boolean {
  try {
    execFileSync("prometheus", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
