import { mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory in memory, where the system has one. */
const IN_MEMORY = "/dev/shm";

/**
 * Makes an empty directory for a database: in memory where there is room, since making and removing its files waits for
 * the disk otherwise. What a killed process has written survives there too.
 *
 * @param prefix what its name begins with
 * @param neededBytes what will lie in it at most, with room to spare for the directories of other tests
 */
export async function makeDatabaseDirectory(prefix: string, neededBytes: number): Promise<string> {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return mkdtemp(join(bavail * bsize > neededBytes ? IN_MEMORY : tmpdir(), prefix));
}
