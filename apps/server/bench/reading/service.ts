import { join } from "node:path";
import { scopeNames } from "@bikeshare/contract";
import { openDatabase } from "../../src/db/database.ts";
import { createCursorCipher } from "../../src/http/cursor.ts";
import { createIds } from "../../src/ids.ts";
import { issueKey } from "../../src/keys/service.ts";
import { timePosition } from "../../src/lists/page.ts";
import { createPartner } from "../../src/partners/service.ts";
import { loadSecrets } from "../../src/secrets.ts";
import { startServer } from "../processes.ts";
import type { Subject } from "./measure.ts";
import type { Position } from "./peers.ts";

/** Our own service on a data set, with every check on. */
export interface MeasuredService {
  readonly subject: (name: string, paths: readonly string[], more?: Partial<Subject>) => Subject;
  /** The page of 50 rides that follows a position; the cursor is encrypted as the service does. */
  readonly after: (position: Position) => string;
  readonly fetch: (path: string) => Promise<Response>;
  stop(): Promise<void>;
}

/** @param dataDir keeps the secrets, which a database recognises from run to run */
export async function startService(connectionString: string, dataDir: string): Promise<MeasuredService> {
  const headers = { authorization: `Bearer ${await makeKey(connectionString)}` };
  const server = await startServer(join(import.meta.dirname, "../../src/main.ts"), ["serve", "--json"], {
    DATABASE_URL: connectionString,
    DATA_DIR: dataDir,
    PORT: "0",
    LOG_LEVEL: "fatal",
  });
  const { url } = JSON.parse(server.firstLine) as { url: string };
  const secrets = await loadSecrets(join(dataDir, "secrets.json"), () => new Uint8Array());
  const cursors = createCursorCipher(secrets.cursorKeys);
  return {
    subject: (name, paths, more) => ({ name, base: url, pid: server.pid, paths, headers, ...more }),
    after: ({ started_at: at, id }) =>
      `/v1/rides?limit=50&cursor=${cursors.encrypt("main\nrides", timePosition.encode({ at, id }))}`,
    fetch: (path) => fetch(`${url}${path}`, { headers }),
    stop: () => server.stop(),
  };
}

async function makeKey(connectionString: string): Promise<string> {
  const db = openDatabase({ connectionString });
  try {
    const clock = () => Date.now();
    const context = { db, clock, ids: createIds(clock), actor: "bench" };
    const partner = await createPartner(context, "main", `Bench ${clock()}`);
    const issued = await issueKey(context, {
      systemId: "main",
      kind: "live",
      partnerId: partner.id,
      scopes: scopeNames,
      rateLimit: 1_000_000_000,
    });
    return issued.key;
  } finally {
    await db.close();
  }
}
