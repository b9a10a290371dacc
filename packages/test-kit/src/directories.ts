import { mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory in memory. Not every system has it. */
const IN_MEMORY = "/dev/shm";

/**
 * Makes an empty directory for a database. It is in memory if there is room, because there the test does not wait for a disk
 * when files are made and removed. Files in memory also survive the process that wrote them.
 *
 * @param prefix the beginning of the directory's name
 * @param neededBytes the maximum size of its content, with room to spare for the directories of other tests
 */
export async function makeDatabaseDirectory(prefix: string, neededBytes: number): Promise<string> {
  const { bavail, bsize } = await statfs(IN_MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return mkdtemp(join(bavail * bsize > neededBytes ? IN_MEMORY : tmpdir(), prefix));
}
