import { createServer } from "node:net";
import { join } from "node:path";
import { type ServerProcess, startServer } from "../processes.ts";

/** The service in a process of its own, which can be killed and comes back at the same address. */
export interface KillableServer {
  readonly base: string;
  /** Of the process that runs now. */
  pid(): number;
  /** Ends it without a warning, and starts it again on the same data. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

export const MAIN = join(import.meta.dirname, "../../src/main.ts");

export async function startKillableServer(env: Record<string, string>): Promise<KillableServer> {
  const port = await freePort();
  const start = () => startServer(MAIN, ["serve", "--json"], { ...env, PORT: String(port), LOG_LEVEL: "error" });
  let server: ServerProcess = await start();
  return {
    base: `http://127.0.0.1:${port}`,
    pid: () => server.pid,
    async killAndRestart() {
      process.kill(server.pid, "SIGKILL");
      await server.stop();
      server = await start();
    },
    stop: () => server.stop(),
  };
}

async function freePort(): Promise<number> {
  const listener = createServer();
  await new Promise<void>((resolve) => {
    listener.listen(0, "127.0.0.1", resolve);
  });
  const address = listener.address();
  await new Promise((resolve) => {
    listener.close(resolve);
  });
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
