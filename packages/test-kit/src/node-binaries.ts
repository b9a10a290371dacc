import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A Node that a published package must run on. */
export interface NodeBinary {
  /** The major version: "20". */
  readonly version: string;
  /** The path of the executable. */
  readonly path: string;
  /** False where it is not installed, which is the case off linux-x64: a test skips, and says so in its title. */
  readonly isInstalled: boolean;
}

/** Those that come as optional dependencies of this package. The workspace's own Node stands between them. */
const OTHERS = ["20", "22", "26"];

/** Every major version of Node that the published packages promise to run on: the workspace's own and the others. */
export function nodeBinaries(): readonly NodeBinary[] {
  const own = { version: String(process.versions.node.split(".")[0]), path: process.execPath, isInstalled: true };
  const others = OTHERS.filter((version) => version !== own.version).map((version) => {
    const path = fileURLToPath(new URL(`../node_modules/node-${version}/bin/node`, import.meta.url));
    return { version, path, isInstalled: existsSync(path) };
  });
  return [...others, own].toSorted((a, b) => Number(a.version) - Number(b.version));
}
