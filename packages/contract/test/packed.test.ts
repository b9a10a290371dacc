import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { installPacked } from "@bikeshare/test-kit";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const isBuilt = existsSync(join(root, "dist/index.js"));

describe.skipIf(!isBuilt)(`the packed package${isBuilt ? "" : " (skipped: not built)"}`, () => {
  let directory: string;
  let tarball: Buffer;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "bikeshare-contract-"));
    // A project with the package from its tarball. Its dependencies come from this workspace, so that the test needs no
    // registry.
    const packed = await installPacked(root, directory);
    tarball = packed.tarball;
    await symlink(join(root, "node_modules"), join(packed.installed, "node_modules"), "dir");
    await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("passes publint", async () => {
    const { messages } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer }, strict: true });
    expect(messages).toEqual([]);
  });

  it("has types that resolve everywhere, also where `exports` is not known", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(tarball));
    if (analysis.types === false) throw new Error("the package has no types");
    // This problem is expected: the package is an ES module, which `require` can load since Node 20.19.
    const problems = analysis.problems.filter((problem) => problem.kind !== "CJSResolvesToESM");
    expect(problems).toEqual([]);
  });

  it("is imported by a project that has nothing else", async () => {
    const program = `
      import { partnerContract, errorCatalogue } from "@bikeshare/contract";
      import { createOpenApiDocument } from "@bikeshare/contract/openapi";
      const document = createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1.0.0" });
      console.log(JSON.stringify([partnerContract.rides.list.path, errorCatalogue.unauthorized.status, document.openapi]));`;
    await writeFile(join(directory, "main.js"), program);
    const { stdout } = await run(process.execPath, ["main.js"], { cwd: directory });
    expect(JSON.parse(stdout)).toEqual(["/v1/rides", 401, "3.1.0"]);
  });
});
