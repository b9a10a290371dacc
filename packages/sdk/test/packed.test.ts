import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { installPacked, nodeBinaries } from "@bikeshare/test-kit";
import { build } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeBikeShare } from "../src/testing.ts";
import { EXPORTS } from "./exports.ts";

const nodes = await nodeBinaries();

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const isBuilt = existsSync(join(root, "dist/webhooks/index.js"));
const PYTHON = `
import sys
from urllib.request import Request, urlopen
print(urlopen(Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]})).read().decode())
`;
const tsc = join(root, "../../node_modules/.bin/tsc");

describe.skipIf(!isBuilt)(`the packed package${isBuilt ? "" : " (skipped: not built)"}`, () => {
  let directory: string;
  let installed: string;
  let tarball: Buffer;
  beforeAll(async () => {
    // A project that has the package from its tarball, and no other package.
    directory = await mkdtemp(join(tmpdir(), "bikeshare-sdk-"));
    ({ tarball, installed } = await installPacked(root, directory));
    await cp(join(import.meta.dirname, "consumers"), directory, { recursive: true });
    await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("has no issues that publint finds", async () => {
    const { messages } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer }, strict: true });
    expect(messages).toEqual([]);
  });

  it("has types that every module resolution finds, the oldest too, for all of its entries", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(tarball));
    if (analysis.types === false) throw new Error("the package has no types");
    // This problem is expected: the package is an ES module, which `require` can load since Node 20.19.
    expect(analysis.problems.filter(({ kind }) => kind !== "CJSResolvesToESM")).toEqual([]);
  });

  it("needs no other package; only its command line imports Node's modules", async () => {
    const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
    const needs = ["dependencies", "peerDependencies", "optionalDependencies"].filter((field) => field in manifest);
    expect(needs).toEqual([]);
    const foreign: Record<string, string[]> = {};
    for (const file of await readdir(join(installed, "dist"), { recursive: true })) {
      if (!/\.(js|d\.ts)$/.test(file)) continue;
      const text = await readFile(join(installed, "dist", file), "utf8");
      const names = [...text.matchAll(/(?<!")(?:from|import|import\()\s*"([^".\n][^"\n]*)"/g)].map(([, name]) =>
        String(name),
      );
      if (names.length > 0) foreign[file] = names;
    }
    expect(foreign).toEqual({
      "cli/command.js": ["node:util"],
      "cli/main.js": ["node:fs/promises", "node:timers/promises"],
    });
  });

  it("has types that TypeScript 5.4 can read: byte arrays have no type parameter there", async () => {
    const files = await readdir(join(installed, "dist"), { recursive: true });
    const declarations = files.filter((file) => file.endsWith(".d.ts"));
    const texts = await Promise.all(declarations.map((file) => readFile(join(installed, "dist", file), "utf8")));
    expect(declarations.filter((_, index) => texts[index]?.includes("Uint8Array<"))).toEqual([]);
  });

  it("contains what is published and no tests", async () => {
    const files = await readdir(installed, { recursive: true });
    expect(files).toEqual(expect.arrayContaining(["README.md", "dist/index.js", "dist/webhooks/verify.js"]));
    expect(files.filter((file) => file.includes(".test."))).toEqual([]);
    expect(await readFile(join(installed, "dist/cli/main.js"), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it("has the source of every source map", async () => {
    const dist = join(installed, "dist");
    const files = await readdir(dist, { recursive: true });
    const missing = await Promise.all(
      files
        .filter((file) => file.endsWith(".js"))
        .map(async (file) => {
          const [, map] = /^\/\/# sourceMappingURL=(.*)$/m.exec(await readFile(join(dist, file), "utf8")) ?? [];
          if (map === undefined) return [];
          const { sources } = JSON.parse(await readFile(join(dist, file, "..", map), "utf8")) as { sources: string[] };
          return sources.map((source) => join(dist, file, "..", source)).filter((source) => !existsSync(source));
        }),
    );
    expect(missing.flat()).toEqual([]);
  });

  describe.each(nodes)("on Node $version", ({ version, path, isInstalled }) => {
    const note = isInstalled ? "" : ` (skipped: Node ${version} is not installed)`;

    it.skipIf(!isInstalled)(`lists, reserves, cancels, reads events and verifies a webhook${note}`, async () => {
      const { stdout } = await run(path, ["using.mjs"], { cwd: directory });
      expect(JSON.parse(stdout)).toEqual({
        stations: 250,
        bike: "bike-1",
        refused: true,
        status: "cancelled",
        events: ["reservation.created", "reservation.cancelled"],
        delivery: "reservation.created",
      });
    });

    it.skipIf(!isInstalled)(`exports exactly the documented names, by import and by require${note}`, async () => {
      const names = JSON.stringify(Object.keys(EXPORTS));
      const list = "(found) => Object.keys(found).filter((name) => name !== 'module.exports').sort()";
      const required = `const list = ${list};
        console.log(JSON.stringify(Object.fromEntries(${names}.map((name) => [name, list(require(name))]))));`;
      const imported = `const list = ${list};
        const found = ${names}.map(async (name) => [name, list(await import(name))]);
        console.log(JSON.stringify(Object.fromEntries(await Promise.all(found))));`;
      await writeFile(join(directory, "required.cjs"), required);
      await writeFile(join(directory, "imported.mjs"), imported);
      for (const file of ["required.cjs", "imported.mjs"]) {
        const { stdout } = await run(path, [file], { cwd: directory });
        expect(JSON.parse(stdout)).toEqual(EXPORTS);
      }
    });

    it.skipIf(!isInstalled)(`has a command line that runs${note}`, async () => {
      const fake = createFakeBikeShare({ stations: [{ id: "market", name: "Market" }] });
      const server = await fake.listen();
      const env = { BIKESHARE_BASE_URL: server.url, BIKESHARE_API_KEY: fake.apiKey };
      const main = join(installed, "dist/cli/main.js");
      const ran = await run(path, [main, "stations", "list", "--json"], { env });
      await server.close();
      expect(JSON.parse(ran.stdout)).toMatchObject({ data: [{ id: "market", name: "Market" }] });
    });
  });

  it("serves the fake to programs of other languages, and ends when it is told to", async () => {
    const child = spawn(process.execPath, [join(installed, "dist/cli/main.js"), "fake", "--port", "0", "--json"]);
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const { url, key } = JSON.parse(line) as { url: string; key: string };
    for (const [command, args] of [
      ["curl", ["-sS", "-H", `Authorization: Bearer ${key}`, `${url}/v1/stations?limit=1`]],
      ["python3", ["-c", PYTHON, `${url}/v1/stations?limit=1`, key]],
    ] as const) {
      const ran = await run(command, args).catch((error: unknown) => {
        // The machine does not have the program.
        if (Reflect.get(Object(error), "code") !== "ENOENT") throw error;
      });
      if (ran !== undefined) expect(JSON.parse(ran.stdout)).toMatchObject({ data: [{ id: "station_001" }] });
    }
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it.each([
    ["the browser's types", { lib: ["es2022", "dom", "dom.iterable"], types: [] }],
    ["Node's types", { lib: ["es2022"], types: ["node"] }],
    ["a bundler's resolution", { lib: ["es2022", "dom"], types: [], module: "esnext", moduleResolution: "bundler" }],
  ])("has types that compile in a strict project with %s, library checks included", async (_what, options) => {
    const types = join(directory, "node_modules/@types");
    await mkdir(types, { recursive: true });
    if (!existsSync(join(types, "node"))) {
      await symlink(join(root, "../../node_modules/@types/node"), join(types, "node"));
    }
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      target: "es2022",
      module: "nodenext",
      noEmit: true,
      ...options,
    };
    const project = join(directory, "tsconfig.json");
    await writeFile(project, JSON.stringify({ compilerOptions, files: ["calling.mts", "typing.mts"] }));
    const errors = await run(tsc, ["-p", project], { cwd: directory }).then(
      () => "",
      (error: unknown) => String(Reflect.get(error as object, "stdout")),
    );
    expect(errors).toBe("");
  });

  it("is bundled for browsers, within 6.3 kB, and works with nothing but what they have", async () => {
    const bundle = async (format: "esm" | "iife") => {
      const stdin = { contents: `export * from "@bikeshare/sdk";`, resolveDir: directory };
      const shape = { bundle: true, minify: true, platform: "browser", target: "es2022", write: false } as const;
      const { outputFiles } = await build({ stdin, format, globalName: "sdk", ...shape });
      return outputFiles[0]!.text;
    };
    expect(gzipSync(await bundle("esm"), { level: 9 }).length).toBeLessThanOrEqual(6_300);
    const code = await bundle("iife");
    expect(code).not.toMatch(/node:|require\(|\bprocess\b|\bBuffer\b/);
    const fake = createFakeBikeShare({ stations: [{ id: "market" }] });
    const { performance, URL, URLSearchParams, AbortController, setTimeout, clearTimeout } = globalThis;
    const platform = { performance, URL, URLSearchParams, AbortController, setTimeout, clearTimeout, crypto };
    const window = createContext({ ...platform, document: {}, fetch: fake.fetch, fake });
    const program = `(async () => {
      const client = new sdk.BikeShare({ baseUrl: fake.baseUrl, apiKey: fake.apiKey });
      const stations = await client.stations.list().toArray({ limit: 5 });
      const error = await client.rides.get("x").catch((thrown) => thrown);
      return JSON.stringify([stations.map(({ id }) => id), sdk.isApiError(error, "not_found")]);
    })()`;
    expect(JSON.parse(await (runInContext(`${code};${program}`, window) as Promise<string>))).toEqual([
      ["market"],
      true,
    ]);
    // A browser sends its own `User-Agent`.
    expect(fake.requests.length).toBeGreaterThan(0);
  });
});
