import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { setPriority } from "node:os";
import { join } from "node:path";
import { type Config, ConfigError } from "../../config.ts";

/* The dashboard's pages and their branding. In the repository, the pages are built when they are missing or old. */

/** The operator's name, colour and logo on the pages. */
export interface Branding {
  readonly name: string | undefined;
  /** `#rrggbb` */
  readonly color: string | undefined;
  readonly logo: Logo | undefined;
}

/** The operator's logo, as pages get it. */
export interface Logo {
  readonly bytes: Buffer;
  readonly type: "image/svg+xml" | "image/png";
}

/** Maximum bytes of a logo. Too high: slows down every page. */
const MAX_LOGO_BYTES = 100_000;
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Returns the branding, with the logo read. @throws ConfigError when the logo is unreadable, too large, or no SVG or PNG */
export async function readBranding({ name, color, logoFile }: Config["branding"]): Promise<Branding> {
  return { name, color, logo: logoFile === undefined ? undefined : await readLogo(logoFile) };
}

async function readLogo(file: string): Promise<Logo> {
  const failed = (why: string, cause?: unknown) => new ConfigError(`DASHBOARD_LOGO_FILE=${file}: ${why}`, { cause });
  const bytes = await readFile(file).catch((error: unknown) => {
    throw failed("cannot be read. Check that the file is there, and that this account may read it.", error);
  });
  if (bytes.length > MAX_LOGO_BYTES)
    throw failed(`is larger than ${MAX_LOGO_BYTES / 1000} kB. Give a smaller picture, best an SVG.`);
  if (bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return { bytes, type: "image/png" };
  // An SVG begins with `<svg`, perhaps after an XML declaration and comments.
  if (/^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(bytes.toString("utf8")))
    return { bytes, type: "image/svg+xml" };
  throw failed("is neither an SVG nor a PNG picture. Convert it into one of them.");
}

/** The files of the dashboard's pages. */
export interface DashboardPages {
  /** The directory of the pages, once `ready` has resolved. */
  readonly directory: string;
  /**
   * Builds the pages if they are missing or older than their sources: once, at the first call. Call it only when the service
   * answers requests, because a build takes processor time. Resolves when the pages are ready, or could not be built.
   */
  readonly ready: () => Promise<void>;
  close(): Promise<void>;
}

export interface DashboardPagesOptions {
  /** Receives the outcome of a build, as one line. */
  readonly note: (text: string) => void;
  /** Whether to rebuild the pages whenever a source is edited, in development mode. */
  readonly isEdited?: boolean;
  /** The directory of the pages' sources. Default: the one in the repository. */
  readonly sourceDirectory?: string;
}

/** The directory of the built pages in the published package. */
const PACKED_DIRECTORY = join(import.meta.dirname, "../../dashboard");
/** The directory of the pages' sources in the repository. */
const SOURCE_DIRECTORY = join(import.meta.dirname, "../../../../dashboard");
/** The sources of the pages; `dist/` is beside them. */
const SOURCE_FILES = ["index.html", "package.json", "vite.config.ts"];
const SOURCE_FOLDERS = [
  "src",
  "public",
  ...["contract", "rules", "webhooks"].map((name) => `../../packages/${name}/src`),
];
/** A lower priority than the start of the service, for which somebody waits. */
const LOW_PRIORITY = 10;

/**
 * Finds the dashboard's pages. In the repository, `ready` builds them if they are missing or older than their sources, in a
 * separate process, so that only requests for pages wait.
 */
export function openDashboardPages(options: DashboardPagesOptions): DashboardPages {
  const { note, isEdited = false, sourceDirectory = SOURCE_DIRECTORY } = options;
  const builder = join(sourceDirectory, "node_modules/vite/bin/vite.js");
  // The published package has built pages and no builder. Where both are missing, there are no pages.
  if (existsSync(PACKED_DIRECTORY) || !existsSync(builder)) {
    return { directory: PACKED_DIRECTORY, ready: () => Promise.resolve(), close: () => Promise.resolve() };
  }
  if (isEdited) return rebuildOnEdit(sourceDirectory, builder);
  const directory = join(sourceDirectory, "dist");
  const builds = new Set<ChildProcess>();
  let isClosed = false;
  let ready: Promise<void> | undefined;
  const makeReady = async () => {
    try {
      const took = await buildWhenOld(sourceDirectory, (args) => runBuilder(builder, sourceDirectory, args, builds));
      if (took !== undefined) note(`The dashboard's pages were missing or old: built in ${took}.`);
    } catch (error) {
      if (!isClosed) note(`The dashboard's pages could not be built: ${String(error)}`);
    }
  };
  return {
    directory,
    ready: () => (ready ??= makeReady()),
    async close() {
      isClosed = true;
      for (const build of builds) build.kill();
      await ready;
    },
  };
}

/** Builds the pages if they are old. @returns how long the build took; undefined if nothing had to be built */
async function buildWhenOld(
  sourceDirectory: string,
  build: (args: readonly string[]) => Promise<void>,
): Promise<string | undefined> {
  const directory = join(sourceDirectory, "dist");
  const builtAt = await modifiedAt(join(directory, "index.html"));
  if (builtAt >= (await newestSource(sourceDirectory))) return undefined;
  const started = performance.now();
  const startedAt = new Date(performance.timeOrigin + started);
  const made = await mkdtemp(join(sourceDirectory, "node_modules/.build-"));
  try {
    await build(["build", "--logLevel", "error", "--emptyOutDir", "--outDir", made]);
    // Sets the time at which the sources were read: a later edit makes the pages outdated.
    await utimes(join(made, "index.html"), startedAt, startedAt);
    await rm(directory, { recursive: true, force: true });
    await rename(made, directory);
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    // No error if another process, started at the same time, has put its build there.
    if ((await modifiedAt(join(directory, "index.html"))) <= builtAt) throw error;
  }
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

/** Returns when the newest source was edited, in milliseconds since 1970. */
async function newestSource(sourceDirectory: string): Promise<number> {
  const folders = await Promise.all(
    SOURCE_FOLDERS.map(async (folder) => {
      const files = await readdir(join(sourceDirectory, folder), { recursive: true }).catch(() => []);
      return files.map((file) => join(folder, file));
    }),
  );
  const files = [...SOURCE_FILES, ...folders.flat()];
  return Math.max(...(await Promise.all(files.map((file) => modifiedAt(join(sourceDirectory, file))))));
}

/** Returns when a file was modified; a file that is missing counts as older than any other. */
async function modifiedAt(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  return found?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

/**
 * Runs the builder once in the sources' directory.
 * @param running the processes that run, to which this one is added until it ends
 */
function runBuilder(
  builder: string,
  sourceDirectory: string,
  args: readonly string[],
  running: Set<ChildProcess>,
): Promise<void> {
  const child = spawn(process.execPath, [builder, ...args], {
    cwd: sourceDirectory,
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  if (child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY);
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => {
      running.delete(child);
      if (status === 0) resolve();
      else reject(new Error(complaint.trim() || `the builder ended with status ${status}`));
    });
  });
}

/** Runs a builder that watches for edits. Its output is separate from the published pages. */
function rebuildOnEdit(sourceDirectory: string, builder: string): DashboardPages {
  const directory = join(sourceDirectory, "node_modules/.development");
  const child = spawn(
    process.execPath,
    [
      builder,
      "build",
      "--watch",
      "--mode",
      "development",
      "--logLevel",
      "warn",
      "--emptyOutDir",
      "--outDir",
      directory,
    ],
    { cwd: sourceDirectory, stdio: ["ignore", "ignore", "inherit"] },
  );
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
  });
  return {
    directory,
    ready: () => Promise.resolve(),
    async close() {
      child.kill();
      await ended;
    },
  };
}
