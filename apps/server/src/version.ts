import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/** Returns this program's version, from its package.json. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"));
  return z.object({ version: z.string() }).parse(manifest).version;
}
