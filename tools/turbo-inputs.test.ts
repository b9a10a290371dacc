import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

/** A task of turbo. Its hash covers its own input files and those of the tasks that it depends on. */
interface Task {
  readonly taskId: string;
  readonly directory: string;
  readonly dependencies: readonly string[];
  readonly inputs: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "..");
const run = (command: string, args: readonly string[]) =>
  execFileSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"],
  });
const tracked = run("git", ["ls-files", "--cached", "--others", "--exclude-standard"]).split("\n").filter(Boolean);
const plan = JSON.parse(run(join(root, "node_modules/.bin/turbo"), ["run", "test", "--dry=json"])) as {
  readonly tasks: readonly Task[];
  readonly globalCacheInputs: { readonly files: Readonly<Record<string, string>> };
};

/** The files from which the pages at /docs are made. */
const GUIDES = [
  "docs",
  "apps/dashboard/src/tokens.css",
  ...["sdk", "sdk-python", "webhooks"].map((name) => `packages/${name}/README.md`),
];
/** Files that find others through the root or the directory of all packages, with what they read there. */
const FROM_A_FOLDER_OF_ALL: Readonly<Record<string, readonly string[]>> = {
  "apps/server/src/http/docs/guides.ts": [...GUIDES, "packages/webhooks/vectors.json"],
  "apps/server/tools/copy-docs.ts": [...GUIDES, "packages/webhooks/vectors.json"],
  "apps/server/test/commands-pages.test.ts": ["docs", "README.md"],
  "apps/server/tools/pages/pages.ts": ["docs"],
  "deploy/guide/page.ts": ["docs"],
  "packages/sdk/test/packed-together.test.ts": ["packages/contract", "packages/sdk", "packages/webhooks"],
  "apps/dashboard/test/browser/service.ts": ["apps/server/src", "apps/server/migrations", "apps/server/bikeshare.mjs"],
  // No inputs, because the sources of the service are inputs of the tests that run it: the server's, and (by the line above)
  // the dashboard's.
  "packages/test-kit/src/service-program.ts": [],
  // No inputs, because this tool is run by hand.
  "apps/dashboard/tools/readme-pictures.ts": [],
  "apps/server/test/sandbox/guide.test.ts": ["docs", "packages/sdk"],
  "apps/server/test/sdk/readme.test.ts": ["packages/contract", "packages/sdk", "packages/webhooks"],
};

const taskOf = (id: string) => plan.tasks.find(({ taskId }) => taskId === id);

function coveredBy(id: string): Set<string> {
  const task = taskOf(id);
  if (task === undefined) return new Set();
  return new Set([
    ...Object.keys(plan.globalCacheInputs.files),
    ...Object.keys(task.inputs).map((file) => join(task.directory, file)),
    ...task.dependencies.flatMap((dependency) => [...coveredBy(dependency)]),
  ]);
}

/** Returns the paths in a file that lead out of its package, as paths from the root. */
function pathsOut(file: string, directory: string): string[] {
  const literals = readFileSync(join(root, file), "utf8").matchAll(/["'`]((?:\.\.?\/)*\.\.(?:\/[^"'`$\n]*)?)["'`]/g);
  return [...literals]
    .map(([, path = ""]) => relative(root, join(root, dirname(file), path)))
    .filter((path) => !path.startsWith("..") && relative(directory, path).startsWith(".."))
    .filter((path) => !/(^|\/)(node_modules|dist)(\/|$)/.test(path));
}

/** Returns the files of the repository at a path, which may be a directory. */
function filesAt(path: string): string[] {
  if (!existsSync(join(root, path))) return [];
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return tracked.filter((file) => file.startsWith(`${path}/`));
}

const tests = plan.tasks.filter(({ taskId }) => taskId.endsWith("#test") && taskId !== "@bikeshare/tools#test");

it.each(tests.map(({ taskId, directory }) => [taskId, directory]))(
  "a change of any file outside its package that %s reads repeats it",
  (taskId, directory) => {
    const covered = coveredBy(taskId);
    const missing = tracked
      .filter((file) => file.startsWith(`${directory}/`) && /\.(ts|tsx|mts|json)$/.test(file))
      // Without benches, which are run by hand. Tests use only their processes.ts, which reads no files of other packages.
      .filter((file) => !file.startsWith(`${directory}/bench/`))
      .flatMap((file) => {
        const paths = FROM_A_FOLDER_OF_ALL[file] ?? pathsOut(file, directory);
        return paths.flatMap((path) => {
          if (path === "" || path === "packages" || path === "apps")
            return [`${file}: name what it reads in this test`];
          return filesAt(path)
            .filter((read) => !covered.has(read))
            .map((read) => `${file} reads ${read}`);
        });
      });
    expect(missing).toEqual([]);
  },
);

it.each(tests.map(({ taskId }) => taskId))("a change in a package that %s depends on repeats it", (taskId) => {
  const name = taskId.replace("#test", "");
  const covered = coveredBy(taskId);
  for (const dependency of dependenciesOf(name)) {
    const directory = taskOf(`${dependency}#test`)?.directory ?? "none";
    const sources = tracked.filter((file) => file.startsWith(`${directory}/`));
    expect(sources.length).toBeGreaterThan(0);
    expect(sources.filter((file) => !covered.has(file))).toEqual([]);
  }
});

/** Returns the packages of this repository that a package depends on, directly and indirectly. */
function dependenciesOf(name: string): string[] {
  const directory = taskOf(`${name}#test`)?.directory ?? "none";
  const manifest = JSON.parse(readFileSync(join(root, directory, "package.json"), "utf8")) as Record<
    "dependencies" | "devDependencies",
    Record<string, string> | undefined
  >;
  const direct = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    .filter(([, version]) => version.startsWith("workspace:"))
    .map(([dependency]) => dependency);
  return [...new Set(direct.flatMap((dependency) => [dependency, ...dependenciesOf(dependency)]))];
}
