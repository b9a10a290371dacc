import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { serviceProgram } from "@bikeshare/test-kit";
import { createTestDatabase, type TestDatabase } from "../database.ts";

/** The service as operators run it, in a separate process on a new database. */
export interface ServeHarness {
  readonly url: string;
  readonly database: TestDatabase;
  /** A directory for files of the test. It is removed with the service. */
  readonly directory: string;
  /** Runs a command of `bikeshare`. @returns its JSON output */
  bikeshare(...args: string[]): Promise<Record<string, string>>;
  /** Creates a partner, and its sandbox with a key, with commands of `bikeshare`. */
  createSandbox(): Promise<Sandbox>;
  close(): Promise<void>;
}

interface Sandbox {
  readonly partnerId: string;
  readonly systemId: string;
  readonly key: string;
}

/** Starts `bikeshare serve`. Its webhooks may call this machine. */
export async function startServe(): Promise<ServeHarness> {
  const database = await createTestDatabase();
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-sandbox-"));
  const main = await serviceProgram();
  const env = {
    ...process.env,
    DATABASE_URL: database.db.connectionString,
    ...{ DATA_DIR: directory, PORT: "0", LOG_LEVEL: "silent", DRAIN_DELAY: "0s" },
    ...{ WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8", WEBHOOK_ALLOW_PORTS: "1024-65535" },
  };
  const command = (...args: string[]) => ["--conditions=@bikeshare/source", main, "--json", ...args];
  const bikeshare = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, command(...args), { env });
    return JSON.parse(stdout) as Record<string, string>;
  };
  const service = spawn(process.execPath, command("serve"), { env, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: service.stdout }), "line")) as [string];
  return {
    url: (JSON.parse(line) as { url: string }).url,
    database,
    directory,
    bikeshare,
    createSandbox: async () => {
      const { id = "" } = await bikeshare("partners", "create", "Journey Planner");
      const { system_id: systemId = "", key = "" } = await bikeshare("partners", "sandbox", id);
      return { partnerId: id, systemId, key };
    },
    close: async () => {
      await end(service);
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}
