import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { codeOf } from "./db/errors.ts";
import type { CursorKey } from "./http/cursor.ts";

/** What must stay secret and be the same on every process of a deployment. */
export interface Secrets {
  /** The first seals new cursors; all open. */
  readonly cursorKeys: readonly CursorKey[];
}

const fileShape = z.object({
  cursor_keys: z
    .array(z.object({ id: z.number().int().min(0).max(255), key: z.string().regex(/^[A-Za-z0-9_-]{43}$/) }))
    .min(1)
    .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length),
});

/**
 * Reads the secrets file; makes it, readable by its owner alone, when there is none.
 * @throws Error when the file is there but is no secrets file
 */
export async function loadSecrets(path: string, randomBytes: (bytes: number) => Uint8Array): Promise<Secrets> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) {
    await create(path, randomBytes);
    // Read back: another process may have made it first, and its secrets count.
    return loadSecrets(path, randomBytes);
  }
  const parsed = fileShape.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new Error(
      `The secrets file ${path} is damaged. Restore it from a backup, or delete it: cursors given out before then stop working.`,
    );
  }
  return {
    cursorKeys: parsed.data.cursor_keys.map(({ id, key }) => ({ id, key: Buffer.from(key, "base64url") })),
  };
}

async function create(path: string, randomBytes: (bytes: number) => Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o711 });
  const key = Buffer.from(randomBytes(32)).toString("base64url");
  const contents = `${JSON.stringify({ cursor_keys: [{ id: 1, key }] }, null, 2)}\n`;
  // Whole before it has its name: whoever starts at the same moment must not read half a file.
  const draft = `${path}.${Buffer.from(randomBytes(8)).toString("hex")}`;
  try {
    await writeFile(draft, contents, { flag: "wx", mode: 0o600, flush: true });
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
