import { join } from "node:path";
import { createCursorCipher } from "../../src/http/cursor.ts";
import { timePosition } from "../../src/storage/lists/page.ts";
import { loadSecrets } from "../../src/storage/secrets/secrets.ts";
import { serve } from "../processes.ts";
import { makePartner, openContext } from "../provision.ts";
import type { Subject } from "./measure.ts";
import type { Position } from "./peers.ts";

/** The service on a data set, with all its checks enabled. */
export interface MeasuredService {
  readonly url: string;
  readonly pid: number;
  readonly subject: (name: string, paths: readonly string[], more?: Partial<Subject>) => Subject;
  /**
   * Returns the path of the page of 50 rides after a position, with a cursor that is encrypted as the service encrypts it.
   */
  readonly after: (position: Position) => string;
  readonly stop: () => Promise<void>;
}

export interface ServiceOptions {
  /** The number of partners that read in turn, with one key each. */
  readonly keys?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Options of `serve`. */
  readonly args?: readonly string[];
}

/**
 * Starts the service on a data set. @param dataDir the directory of the secrets file. It must be the same in each run on a
 * database, because the service refuses a database that was encrypted with other secrets.
 */
export async function startService(
  connectionString: string,
  dataDir: string,
  { keys: count = 1, env = {}, args = [] }: ServiceOptions = {},
): Promise<MeasuredService> {
  const context = openContext(connectionString);
  const keys: string[] = [];
  for (let n = 0; n < count; n++) keys.push((await makePartner(context, `Bench ${n}`)).key);
  await context.db.close();
  const own = { DATABASE_URL: connectionString, DATA_DIR: dataDir, LOG_LEVEL: "fatal" };
  const { url, pid, stop } = await serve({ ...own, ...env }, args);
  // The service has created the file, so no random bytes are needed.
  const secrets = await loadSecrets(join(dataDir, "secrets.json"), () => new Uint8Array());
  const cursors = createCursorCipher(secrets.cursorKeys);
  return {
    url,
    pid,
    stop,
    subject: (name, paths, more) => ({ name, base: url, pid, paths, keys, ...more }),
    // `main\nrides` ties the cursor to the system `main` and its list of rides without filters.
    after: ({ started_at: at, id }) =>
      `/v1/rides?limit=50&cursor=${cursors.encrypt("main\nrides", timePosition.encode({ at, id }))}`,
  };
}
