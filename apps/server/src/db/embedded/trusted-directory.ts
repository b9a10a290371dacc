import { chmod, lstat, mkdir, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { makeDirectory } from "../make-directory.ts";
import { ownUid } from "./account.ts";
import { EmbeddedPostgresError, systemCode } from "./errors.ts";

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * The first directory on the way to `path` (itself included) through which another account could
 * put something else in its place, or undefined. A sticky directory such as /tmp may be writable:
 * there others cannot rename or remove what is not theirs.
 */
export async function findIntruderDoor(path: string): Promise<string | undefined> {
  const uid = ownUid();
  if (uid === undefined) return undefined;
  let current = await realpath(path);
  for (let isTarget = true; ; isTarget = false) {
    const { uid: owner, mode } = await lstat(current);
    const isWritable = (mode & WRITABLE_BY_OTHERS) !== 0 && (isTarget || (mode & STICKY) === 0);
    if ((owner !== uid && owner !== 0) || isWritable) return current;
    const parent = dirname(current);
    if (parent === current) return undefined;
    current = parent;
  }
}

/**
 * Makes `directory` (0755, so that the unprivileged account may pass) or takes the one that is there,
 * if only we could have made it. Never changes the mode of a directory that was there before.
 */
export async function ensureTrustedDirectory(directory: string): Promise<void> {
  makeDirectory(dirname(directory));
  try {
    await mkdir(directory);
    await chmod(directory, 0o755);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
  await assertTrusted(directory);
}

/** Throws when `directory` is a link or others could have written it. */
export async function assertTrusted(directory: string): Promise<void> {
  const isPlain = (await lstat(directory)).isDirectory();
  const door = isPlain ? await findIntruderDoor(directory) : directory;
  if (door === undefined) return;
  throw new EmbeddedPostgresError(
    `${door} belongs to another account, is writable by others, or is a link, so ${directory} cannot be trusted to hold the database. ` +
      "Remove it if you did not make it, correct its owner and mode, or set DATABASE_URL.",
  );
}
