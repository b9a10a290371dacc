import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ServerProcess, startServer } from "../../../bench/processes.ts";

const main = join(import.meta.dirname, "../../../src/main.ts");
const run = promisify(execFile);

/** The service and its command line, on one data directory. */
export interface ServiceUnderTest {
  start(...args: readonly string[]): Promise<ServerProcess & { readonly url: string }>;
  /** Runs a command; gives its JSON. */
  command<Result>(...args: readonly string[]): Promise<Result>;
}

export function serviceOn(dataDir: string): ServiceUnderTest {
  const env = {
    DATA_DIR: dataDir,
    PORT: "0",
    LOG_LEVEL: "silent",
    WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8",
    WEBHOOK_ALLOW_PORTS: "1-65535",
    RATE_LIMIT_PER_MINUTE: "1000000",
  };
  return {
    async start(...args) {
      const server = await startServer(main, ["--json", ...args], env);
      const { url } = JSON.parse(server.firstLine) as { readonly url: string };
      return { ...server, url };
    },
    async command<Result>(...args: readonly string[]) {
      const all = ["--conditions=@bikeshare/source", main, "--json", ...args];
      const { stdout } = await run(process.execPath, all, {
        env: { ...process.env, ...env },
        maxBuffer: 64 * 1024 * 1024,
      });
      return JSON.parse(stdout) as Result;
    },
  };
}
