import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ensureLockFile, tryExclusiveLock } from "@bikeshare/embedded-postgres";
import { type Config, ConfigError } from "../config.ts";
import { prepareDataDir } from "../runtime/startup/checks.ts";

/** The right to be the one `start` of a data directory. The system takes it back when the process ends, however it ends. */
interface StartLock {
  /** Writes the address down for a second `start`, which names it. */
  publish(url: string): Promise<void>;
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
    // A `start` that is still starting has no address yet.
    const url = await trimmedText(addressFile);
    throw new ConfigError(
      `DATA_DIR=${config.dataDir}: \`start\` is running there already${url === "" ? "" : `, at ${url}`}. Use that one, stop it first, or set DATA_DIR to another directory.`,
    );
  }
  await rm(addressFile, { force: true });
  return {
    publish: (url) => writeFile(addressFile, `${url}\n`),
    async release() {
      await rm(addressFile, { force: true });
      lock.release();
    },
  };
}

/** Returns the address of the `start` that is running on a data directory; undefined where none is. */
export async function addressOfStart({ dataDir }: Pick<Config, "dataDir">): Promise<string | undefined> {
  const url = await trimmedText(join(dataDir, "start.url"));
  if (url === "") return undefined;
  const lock = tryExclusiveLock(join(dataDir, "start.lock"));
  // A `start` that was killed has left its address behind, and nothing that holds the lock.
  lock?.release();
  return lock === undefined ? url : undefined;
}

/** Returns a file's text, trimmed; empty when the file does not exist. */
export async function trimmedText(file: string): Promise<string> {
  return (await readFile(file, "utf8").catch(() => "")).trim();
}
