import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A package that was packed as for publishing, and installed. */
export interface Packed {
  /** The file that would be sent to a registry. */
  readonly tarball: Buffer;
  /** The directory of the installed package: `<project>/node_modules/<name>`. */
  readonly installed: string;
}

/**
 * Packs a package as a release does, by pnpm, and installs it in a project from its tarball. It uses no registry, and does not
 * install dependencies. The package's `dist` must have been built, and pnpm must be in PATH, as it is for a script that pnpm
 * runs.
 *
 * @param root the package's directory
 * @param project the directory of the project
 */
export async function installPacked(root: string, project: string): Promise<Packed> {
  const { name } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { name: string };
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", project];
  const { filename: file } = JSON.parse((await run("pnpm", pack, { cwd: root })).stdout) as { filename: string };
  const installed = join(project, "node_modules", name);
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", file, "-C", installed, "--strip-components=1"]);
  return { tarball: await readFile(file), installed };
}
