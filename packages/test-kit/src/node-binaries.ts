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
  /** False when it is not available: the test is skipped, and its title says so. */
  readonly isInstalled: boolean;
}

/** The package whose dependencies are the other versions of Node. */
const DEFINITION = fileURLToPath(new URL("../node-versions", import.meta.url));
const OTHERS = ["20", "22", "26"];

/**
 * Returns a Node of each even major version that the published packages support: the workspace's own and the others.
 * Odd ones have no long-term support. The others are downloaded when a test asks for them the first time, so that `pnpm
 * install` does not take longer. They exist for linux-x64; on other systems their tests are skipped.
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
