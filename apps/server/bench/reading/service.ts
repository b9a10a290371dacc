import { join } from "node:path";
import { scopeNames } from "@bikeshare/contract";
import { createCursorCipher } from "../../src/http/cursor.ts";
import { createIds } from "../../src/ids.ts";
import { issueKey } from "../../src/partners/keys/service.ts";
import { createPartner } from "../../src/partners/service.ts";
import { openDatabase } from "../../src/storage/db/database.ts";
import { timePosition } from "../../src/storage/lists/page.ts";
import { loadSecrets } from "../../src/storage/secrets/secrets.ts";
import { startServer } from "../processes.ts";
import { authorization } from "./load.ts";
import type { Subject } from "./measure.ts";
import type { Position } from "./peers.ts";

/** Our own service on a data set, with every check on. */
export interface MeasuredService {
  readonly url: string;
  readonly pid: number;
  readonly subject: (name: string, paths: readonly string[], more?: Partial<Subject>) => Subject;
  /** The page of 50 rides that follows a position; the cursor is encrypted as the service does. */
  readonly after: (position: Position) => string;
  readonly fetch: (path: string) => Promise<Response>;
  stop(): Promise<void>;
}

interface ServiceOptions {
  /** How many keys are used, in turn. */
  readonly keys?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Options of `serve`. */
  readonly args?: readonly string[];
}

/** @param dataDir keeps the secrets, which a database recognises from run to run */
export async function startService(
  connectionString: string,
  dataDir: string,
  { keys: count = 1, env = {}, args = [] }: ServiceOptions = {},
): Promise<MeasuredService> {
  const keys = await makeKeys(connectionString, count);
  const server = await startServer(join(import.meta.dirname, "../../src/main.ts"), ["serve", "--json", ...args], {
    DATABASE_URL: connectionString,
    DATA_DIR: dataDir,
    PORT: "0",
    LOG_LEVEL: "fatal",
    // No load balancer is waited for.
    DRAIN_DELAY: "0s",
    ...env,
  });
  const { url } = JSON.parse(server.firstLine) as { url: string };
  const secrets = await loadSecrets(join(dataDir, "secrets.json"), () => new Uint8Array());
  const cursors = createCursorCipher(secrets.cursorKeys);
  return {
    url,
    pid: server.pid,
    subject: (name, paths, more) => ({ name, base: url, pid: server.pid, paths, keys, ...more }),
    after: ({ started_at: at, id }) =>
      `/v1/rides?limit=50&cursor=${cursors.encrypt("main\nrides", timePosition.encode({ at, id }))}`,
    fetch: (path) => fetch(`${url}${path}`, { headers: authorization(keys[0]) }),
    stop: () => server.stop(),
  };
}

async function makeKeys(connectionString: string, count: number): Promise<string[]> {
  const db = openDatabase({ connectionString });
  try {
    const clock = () => Date.now();
    const context = { db, clock, ids: createIds(clock), actor: "bench" };
    const partner = await createPartner(context, "main", `Bench ${clock()}`);
    const input = { systemId: "main", kind: "live", partnerId: partner.id, scopes: scopeNames } as const;
    const keys: string[] = [];
    for (let n = 0; n < count; n++) keys.push((await issueKey(context, { ...input, rateLimit: 1_000_000_000 })).key);
    return keys;
  } finally {
    await db.close();
  }
}
