import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { installPacked, nodeBinaries } from "@bikeshare/test-kit";
import { build } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { vectors } from "./vectors.ts";

const nodes = await nodeBinaries();

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const isBuilt = existsSync(join(root, "dist/index.js"));
const tsc = join(root, "../../node_modules/.bin/tsc");

describe.skipIf(!isBuilt)(`the packed package${isBuilt ? "" : " (skipped: not built)"}`, () => {
  let directory: string;
  let installed: string;
  let tarball: Buffer;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "bikeshare-webhooks-"));
    // A project that has the package from its tarball, and no other package.
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

  it("needs no other package, and imports Node's modules in its /node entry only", async () => {
    const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
    expect(Object.keys(manifest)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(peer|optional)?d?D?ependencies$/)]),
    );
    const files = await readdir(join(installed, "dist"));
    const imports = new Map<string, string[]>();
    for (const file of files.filter((name) => /\.(js|d\.ts)$/.test(name))) {
      const text = await readFile(join(installed, "dist", file), "utf8");
      const foreign = [...text.matchAll(/(?:from|import|import\()\s*"([^".][^"]*)"/g)].map(([, name]) => String(name));
      if (foreign.length > 0) imports.set(file, foreign);
    }
    expect(Object.fromEntries(imports)).toEqual({ "node.js": ["node:crypto"] });
  });

  it("contains what is published and no tests", async () => {
    const files = await readdir(installed, { recursive: true });
    expect(files).toEqual(expect.arrayContaining(["README.md", "vectors.json", "dist/index.js", "src/index.ts"]));
    expect(files.filter((file) => file.includes(".test."))).toEqual([]);
  });

  describe.each(nodes)("on Node $version", ({ version, path, isInstalled }) => {
    const note = isInstalled ? "" : ` (skipped: Node ${version} is not installed)`;

    it.skipIf(!isInstalled)(`agrees with every vector${note}`, async () => {
      const { stdout } = await run(path, ["vectors.mjs"], { cwd: directory });
      const { valid, invalid } = vectors;
      expect(JSON.parse(stdout)).toEqual({
        accepted: valid.length,
        refused: invalid.length,
        signed: valid.length,
        failures: [],
      });
    });

    it.skipIf(!isInstalled)(`is required by CommonJS${note}`, async () => {
      const program = `
        const { sign } = require("@bikeshare/webhooks");
        const { signSync } = require("@bikeshare/webhooks/node");
        const { TEST_SECRET } = require("@bikeshare/webhooks/testing");
        const receivers = ["fetch", "express", "fastify"].map((name) => require("@bikeshare/webhooks/" + name).createReceiver);
        const header = signSync({ body: "{}", secrets: TEST_SECRET, timestamp: 1 });
        console.log(JSON.stringify([sign, ...receivers].map((found) => typeof found).concat(header.slice(0, 7))));`;
      await writeFile(join(directory, "required.cjs"), program);
      const { stdout } = await run(path, ["required.cjs"], { cwd: directory });
      expect(JSON.parse(stdout)).toEqual(["function", "function", "function", "function", "t=1,v1="]);
    });
  });

  it.each([
    ["nothing but the language", "verifying.mts", { lib: ["es2022"], types: [] }],
    ["the browser's types", "fetching.mts", { lib: ["es2022", "dom", "dom.iterable"], types: [] }],
    [
      "a bundler's resolution",
      "fetching.mts",
      { lib: ["es2022", "dom"], types: [], module: "esnext", moduleResolution: "bundler" },
    ],
  ])("has types that compile in a strict project with %s", async (_what, file, options) => {
    expect(await compile(file, options)).toBe("");
  });

  it("has types that fit those of Express and Fastify", async () => {
    const modules = join(directory, "node_modules");
    await mkdir(join(modules, "@types"), { recursive: true });
    await symlink(join(root, "node_modules/express"), join(modules, "express"));
    await symlink(join(root, "node_modules/fastify"), join(modules, "fastify"));
    await symlink(join(root, "node_modules/@types/express"), join(modules, "@types/express"));
    await symlink(join(root, "../../node_modules/@types/node"), join(modules, "@types/node"));
    // `skipLibCheck`: the declarations of Express and Fastify have errors of their own.
    expect(await compile("serving.mts", { lib: ["es2023"], types: ["node"], skipLibCheck: true })).toBe("");
  });

  /** The compiler's errors. */
  async function compile(file: string, options: Record<string, unknown>): Promise<string> {
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
    const project = join(directory, `${file}.json`);
    await writeFile(project, JSON.stringify({ compilerOptions, files: [file] }));
    return run(tsc, ["-p", project], { cwd: directory }).then(
      () => "",
      (error: unknown) => String(Reflect.get(error as object, "stdout")),
    );
  }

  it("is bundled for browsers and works with nothing but what they have", async () => {
    const bundled = await build({
      stdin: {
        contents: `export * from "@bikeshare/webhooks"; export * from "@bikeshare/webhooks/fetch";`,
        resolveDir: directory,
      },
      bundle: true,
      minify: true,
      platform: "browser",
      format: "iife",
      globalName: "webhooks",
      target: "es2022",
      write: false,
    });
    const code = bundled.outputFiles[0]!.text;
    expect(code).not.toMatch(/node:|require\(|\bprocess\b|\bBuffer\b/);
    // The bound shows when the code grows. It has 4.4 kB today. A third of it are the messages that name likely mistakes.
    expect(gzipSync(code).length).toBeLessThan(4608);
    const [valid, invalid] = [vectors.valid[0]!, vectors.invalid[0]!];
    const browser = createContext({ crypto, TextEncoder, TextDecoder, Response, vectors: { valid, invalid } });
    const program = `(async () => {
      const { valid, invalid } = vectors;
      const check = (vector) => webhooks.verify(vector.body, vector.header, vector.secrets, { now: () => vector.now * 1000 });
      const { event } = await check(valid);
      const signed = await webhooks.sign({ body: valid.body, secrets: valid.secrets, timestamp: valid.now });
      return [event, signed === valid.header, await check(invalid).catch((error) => error.reason)];
    })()`;
    expect(await runInContext(`${code};${program}`, browser)).toEqual(["ride.completed", true, invalid.reason]);
  });
});
