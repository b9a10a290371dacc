import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ensureLockFile, tryExclusiveLock } from "@bikeshare/embedded-postgres";
import { type Config, ConfigError } from "../config.ts";
import { prepareDataDir } from "../startup/checks.ts";

/** The right to be the one `start` of a data directory. The system takes it back when the process ends, however it ends. */
export interface StartLock {
  /** Leaves the address for whoever is refused. */
  tell(url: string): Promise<void>;
  release(): Promise<void>;
}

/**
 * A second `start` would point the demo partner's webhooks at its own receiver, and leave the first with none when it ends.
 * (Any number of `serve` may share a data directory.)
 * @throws ConfigError when one is running, with its address
 */
export async function lockStart(config: Pick<Config, "dataDir">): Promise<StartLock> {
  await prepareDataDir(config);
  const lockFile = join(config.dataDir, "start.lock");
  const addressFile = join(config.dataDir, "start.url");
  await ensureLockFile(lockFile);
  const lock = tryExclusiveLock(lockFile);
  if (lock === undefined) {
    // It may be on its way up, without an address yet.
    const url = (await readFile(addressFile, "utf8").catch(() => "")).trim();
    throw new ConfigError(
      `DATA_DIR=${config.dataDir}: \`start\` is running there already${url === "" ? "" : `, at ${url}`}. Use that one, stop it first, or set DATA_DIR to another directory.`,
    );
  }
  await rm(addressFile, { force: true });
  return {
    tell: (url) => writeFile(addressFile, `${url}\n`),
    async release() {
      await rm(addressFile, { force: true });
      lock.release();
    },
  };
}
