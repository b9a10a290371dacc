/*
 * Puts the files that the guides at /docs are made of into dist/http/docs/files/, at their paths in the repository. Run after
 * the compiler (`pnpm run build`).
 */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { guideFiles, guides, startGuide } from "../src/http/docs/guides.ts";

const root = join(import.meta.dirname, "../../..");
const to = join(import.meta.dirname, "../dist/http/docs/files");
const documents = [startGuide, ...guides].map(({ file }) => file);
const styles = ["apps/dashboard/src/tokens.css", "apps/server/src/http/docs/assets"];

rmSync(to, { recursive: true, force: true });
for (const path of [...documents, ...Object.keys(guideFiles), ...styles]) {
  cpSync(join(root, path), join(to, path), { recursive: true });
}
