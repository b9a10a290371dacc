import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { installPacked, nodeBinaries } from "@bikeshare/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const nodes = await nodeBinaries();

const run = promisify(execFile);
const packages = join(import.meta.dirname, "../..");
const names = ["contract", "webhooks", "sdk"];
const isBuilt = names.every((name) => existsSync(join(packages, name, "dist/index.js")));
const tsc = join(packages, "../node_modules/.bin/tsc");

describe.skipIf(!isBuilt)(`a project with all published packages${isBuilt ? "" : " (skipped: not built)"}`, () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "bikeshare-packages-"));
    for (const name of names) await installPacked(join(packages, name), directory);
    // The contract's dependencies come from this workspace, so that the test needs no registry.
    const contract = join(directory, "node_modules/@bikeshare/contract");
    await symlink(join(packages, "contract/node_modules"), join(contract, "node_modules"), "dir");
    await cp(join(import.meta.dirname, "consumers"), directory, { recursive: true });
    await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  describe.each(nodes)("on Node $version", ({ version, path, isInstalled }) => {
    const note = isInstalled ? "" : ` (skipped: Node ${version} is not installed)`;

    it.skipIf(!isInstalled)(`has the contract by import and by require${note}`, async () => {
      const found = `JSON.stringify([partnerContract.rides.list.path, errorCatalogue.unauthorized.status,
        createOpenApiDocument({ baseUrl: "https://bikes.example", version: "1" }).openapi])`;
      const [contract, openapi] = ["{ partnerContract, errorCatalogue }", "{ createOpenApiDocument }"];
      const imported = `import ${contract} from "@bikeshare/contract"; import ${openapi} from "@bikeshare/contract/openapi";`;
      const required = `const ${contract} = require("@bikeshare/contract"); const ${openapi} = require("@bikeshare/contract/openapi");`;
      await writeFile(join(directory, "imported.mjs"), `${imported} console.log(${found});`);
      await writeFile(join(directory, "required.cjs"), `${required} console.log(${found});`);
      for (const file of ["imported.mjs", "required.cjs"]) {
        const { stdout } = await run(path, [file], { cwd: directory });
        expect(JSON.parse(stdout)).toEqual(["/v1/rides", 401, "3.1.0"]);
      }
    });
  });

  it("have types that fit each other in a strict project", async () => {
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      target: "es2022",
      lib: ["es2022", "dom"],
      types: [],
      module: "nodenext",
      noEmit: true,
    };
    await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["contracting.mts"] }));
    const errors = await run(tsc, ["-p", "."], { cwd: directory }).then(
      () => "",
      (error: unknown) => String(Reflect.get(error as object, "stdout")),
    );
    expect(errors).toBe("");
  });

  it("verifies with either package what the other signs, and knows the other's errors", async () => {
    const program = `
      import { isWebhookVerificationError, sign } from "@bikeshare/webhooks";
      import * as sdk from "@bikeshare/sdk/webhooks";
      const at = "2026-06-01T12:00:00.000Z";
      const body = JSON.stringify({ event: "a", delivery_id: "d", occurred_at: at, sent_at: at, data: {} });
      const header = await sign({ body, secrets: "whsec_x", timestamp: 1780315200 });
      const now = () => 1780315200_000;
      const { event } = await sdk.verify(body, header, "whsec_x", { now });
      const error = await sdk.verify(body, header, "whsec_y", { now }).catch((thrown) => thrown);
      console.log(JSON.stringify([event, isWebhookVerificationError(error)]));`;
    await writeFile(join(directory, "both.mjs"), program);
    const { stdout } = await run(process.execPath, ["both.mjs"], { cwd: directory });
    expect(JSON.parse(stdout)).toEqual(["a", true]);
  });

  it("could have them from a registry: a dry run of publishing finds nothing in the way, at one version", async () => {
    const versions = new Set<string>();
    for (const name of names) {
      const cwd = join(packages, name);
      const options = ["--dry-run", "--offline", "--ignore-scripts", "--no-git-checks", "--access", "public", "--json"];
      const { stdout } = await run("pnpm", ["publish", ...options], { cwd });
      expect(stdout).toContain(`"name": "@bikeshare/${basename(cwd)}"`);
      versions.add((JSON.parse(await readFile(join(cwd, "package.json"), "utf8")) as { version: string }).version);
    }
    expect(versions.size).toBe(1);
  });
});
