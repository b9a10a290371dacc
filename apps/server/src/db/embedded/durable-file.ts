import { open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isRoot } from "./account.ts";

/**
 * Replaces a file at once and for good: after a power cut there is the old content or the new one.
 * Written by root it belongs to whom its directory belongs to, so that one start as root does not lock that account out.
 */
export async function writeDurably(file: string, content: string, mode: number): Promise<void> {
  const temporary = `${file}.partial`;
  // A left-over of a killed process; callers hold the lock of the data directory, so nobody is writing it.
  await rm(temporary, { force: true });
  const handle = await open(temporary, "wx", mode);
  try {
    if (isRoot()) {
      const { uid, gid } = await stat(dirname(file));
      // Through the handle: by name, the directory's owner could slip another file in.
      await handle.chown(uid, gid);
    }
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await renameDurably(temporary, file);
}

/** Renames, and returns once the new name survives a power cut. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  // Windows cannot open a directory; NTFS journals names by itself.
  if (process.platform === "win32") return;
  const directory = await open(dirname(to), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
