/* Copies the built dashboard to dist/dashboard, from where the server serves it. Part of `pnpm run build`. */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";

const from = join(import.meta.dirname, "../../dashboard/dist");
const to = join(import.meta.dirname, "../dist/dashboard");

if (!existsSync(from)) throw new Error("The dashboard is not built: run its build first, or `pnpm turbo run build`.");
rmSync(to, { recursive: true, force: true });
cpSync(from, to, { recursive: true });
