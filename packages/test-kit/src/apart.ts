import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const CACHE = fileURLToPath(new URL("../../../node_modules/.cache", import.meta.url));

/**
 * Installs the dependencies of a package outside the workspace, unless they are installed already. Only a few tests need
 * such programs, so `pnpm install` of the workspace does not install them. Tests that call this at the same time each
 * install into a directory of their own. The first to finish renames its directory to the final name, and all use it.
 *
 * @param definition the directory with the package's `package.json` and `pnpm-lock.yaml`
 * @returns the directory that has its `node_modules`
 */
export async function installApart(definition: string): Promise<string> {
  const lockfile = await readFile(join(definition, "pnpm-lock.yaml"));
  const cache = join(CACHE, basename(definition));
  const final = join(cache, createHash("sha256").update(lockfile).digest("hex").slice(0, 16));
  if (existsSync(final)) return final;
  await mkdir(cache, { recursive: true });
  const own = await mkdtemp(join(cache, "installing-"));
  try {
    for (const file of ["package.json", "pnpm-lock.yaml"]) await copyFile(join(definition, file), join(own, file));
    // The pnpm that runs the tests, or npx if the tests were started without pnpm.
    const pnpm = process.env["npm_execpath"];
    const [command, ...before] = pnpm === undefined ? ["npx", "-y", "pnpm@12"] : [pnpm];
    const install = [
      ...before,
      "install",
      "--frozen-lockfile",
      "--ignore-workspace",
      "--ignore-scripts",
      "--prefer-offline",
    ];
    await promisify(execFile)(command, install, { cwd: own });
    await rename(own, final);
  } catch (error) {
    if (!existsSync(final)) throw error;
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return final;
}
