import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createFakeBikeShare } from "@bikeshare/sdk/testing";
import { installPacked } from "@bikeshare/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const isBuilt = existsSync(join(root, "dist/index.js"));

/** The command of each runtime. It gets only the right to use the network and, for the command line, the environment. */
const runtimes = [
  { name: "Deno", command: "deno", program: ["run", "--no-prompt", "--allow-net=127.0.0.1"], rights: ["--allow-env"] },
  { name: "Bun", command: "bun", program: ["run"], rights: [] },
].map((runtime) => ({
  ...runtime,
  isHere: isBuilt && spawnSync(runtime.command, ["--version"], { stdio: "ignore" }).status === 0,
}));

describe("the packed package", () => {
  let directory: string;
  let installed: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "bikeshare-sdk-"));
    ({ installed } = await installPacked(root, directory));
    await cp(join(import.meta.dirname, "consumers"), directory, { recursive: true });
    await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  describe.each(runtimes)("on $name", ({ name, command, program, rights, isHere }) => {
    const note = isHere ? "" : ` (skipped: no ${name} on this machine, or not built)`;
    const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1" };

    it.skipIf(!isHere)(`lists, reserves, cancels, reads events and verifies a webhook${note}`, async () => {
      const { stdout } = await run(command, [...program, "using.mjs"], { cwd: directory, env });
      expect(JSON.parse(stdout)).toMatchObject({
        stations: 250,
        status: "cancelled",
        delivery: "reservation.created",
      });
    });

    it.skipIf(!isHere)(`has a command line that runs${note}`, async () => {
      const fake = createFakeBikeShare({ stations: [{ id: "market", name: "Market" }] });
      const server = await fake.listen();
      const connection = { BIKESHARE_BASE_URL: server.url, BIKESHARE_API_KEY: fake.apiKey };
      const main = join(installed, "dist/cli/main.js");
      const args = [...program, ...rights, main, "stations", "list", "--json"];
      const { stdout } = await run(command, args, { cwd: directory, env: { ...env, ...connection } });
      await server.close();
      expect(JSON.parse(stdout)).toMatchObject({ data: [{ id: "market", name: "Market" }] });
    });
  });
});
