import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A Node that a published package must run on. */
export interface NodeBinary {
  /** The major version: "20". */
  readonly version: string;
  /** The path of the executable. */
  readonly path: string;
  /** False where it is not available: the test skips, and says so in its title. */
  readonly isInstalled: boolean;
}

/** The package beside this one that lists the other versions. The workspace's own Node stands between them. */
const DEFINITION = fileURLToPath(new URL("../node-versions", import.meta.url));
const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/node-versions", import.meta.url));
const OTHERS = ["20", "22", "26"];

/**
 * Every major version of Node that the published packages promise to run on: the workspace's own and the others. The
 * others are downloaded the first time that a test asks for them, so that whoever starts the service need not wait for
 * them. They exist for linux-x64; elsewhere their tests skip.
 */
export async function nodeBinaries(): Promise<readonly NodeBinary[]> {
  const own = { version: String(process.versions.node.split(".")[0]), path: process.execPath, isInstalled: true };
  const isAvailable = process.platform === "linux" && process.arch === "x64";
  const modules = isAvailable ? join(await installOthers(), "node_modules") : CACHE;
  const others = OTHERS.filter((version) => version !== own.version).map((version) => {
    const path = join(modules, `node-${version}/bin/node`);
    return { version, path, isInstalled: isAvailable && existsSync(path) };
  });
  return [...others, own].toSorted((a, b) => Number(a.version) - Number(b.version));
}

/**
 * Installs the other versions unless they are installed. Test files that do so at the same time each install into a
 * directory of their own; the first to finish gives it its final name, and the others use that.
 * @returns where they are
 */
async function installOthers(): Promise<string> {
  const lockfile = await readFile(join(DEFINITION, "pnpm-lock.yaml"));
  const final = join(CACHE, createHash("sha256").update(lockfile).digest("hex").slice(0, 16));
  if (existsSync(final)) return final;
  await mkdir(CACHE, { recursive: true });
  const own = await mkdtemp(join(CACHE, "installing-"));
  try {
    for (const file of ["package.json", "pnpm-lock.yaml"]) await copyFile(join(DEFINITION, file), join(own, file));
    // The pnpm that runs the tests; npx where they were started without it.
    const pnpm = process.env["npm_execpath"];
    const [command, ...before] = pnpm === undefined ? ["npx", "-y", "pnpm@12"] : [pnpm];
    const install = [...before, "install", "--frozen-lockfile", "--ignore-workspace", "--prefer-offline"];
    await promisify(execFile)(command, install, { cwd: own });
    await rename(own, final);
  } catch (error) {
    if (!existsSync(final)) throw error;
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return final;
}
