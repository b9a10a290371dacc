import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installApart } from "./apart.ts";

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
const OTHERS = ["20", "22", "26"];

/**
 * Every major version of Node that the published packages promise to run on: the workspace's own and the others. The
 * others are downloaded the first time that a test asks for them, so that whoever starts the service need not wait for
 * them. They exist for linux-x64; elsewhere their tests skip.
 */
export async function nodeBinaries(): Promise<readonly NodeBinary[]> {
  const own = { version: String(process.versions.node.split(".")[0]), path: process.execPath, isInstalled: true };
  const isAvailable = process.platform === "linux" && process.arch === "x64";
  const modules = isAvailable ? join(await installApart(DEFINITION), "node_modules") : DEFINITION;
  const others = OTHERS.filter((version) => version !== own.version).map((version) => {
    const path = join(modules, `node-${version}/bin/node`);
    return { version, path, isInstalled: isAvailable && existsSync(path) };
  });
  return [...others, own].toSorted((a, b) => Number(a.version) - Number(b.version));
}
