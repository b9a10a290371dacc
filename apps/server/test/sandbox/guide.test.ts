import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { findFreePort } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { until } from "../until.ts";
import { type ServeHarness, startServe } from "./serve.harness.ts";

const root = join(import.meta.dirname, "../../../..");
const blocksOf = (page: string, language: string) =>
  [
    ...readFileSync(join(root, "docs", page), "utf8").matchAll(
      new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"),
    ),
  ].map(([, text = ""]) => text);

let service: ServeHarness;
beforeAll(async () => {
  service = await startServe();
});
afterAll(() => service.close());

/**
 * Creates a directory for PATH with an `npx` whose `@bikeshare/sdk` is the command line of this repository, because npm may
 * not have this version yet.
 */
async function makeNpx(): Promise<string> {
  const directory = join(service.directory, "bin");
  await mkdir(directory);
  const main = join(root, "packages/sdk/src/cli/main.ts");
  const program = `#!/bin/sh\n[ "$1" = @bikeshare/sdk ] || exit 1\nshift\nexec '${process.execPath}' --conditions=@bikeshare/source '${main}' "$@"\n`;
  writeFileSync(join(directory, "npx"), program);
  chmodSync(join(directory, "npx"), 0o755);
  return directory;
}

it("a stranger who pastes the page's blocks into a shell has a verified ride.completed within a minute of asking for a sandbox, and no command fails", async () => {
  const blocks = blocksOf("sandbox.md", "sh");
  const [verify = ""] = blocksOf("receiving-webhooks.md", "python");
  expect(blocks.length).toBeGreaterThan(6);
  const path = `${await makeNpx()}:${process.env["PATH"] ?? ""}`;
  // Replaces only the port of the page's commands, because another test may use that port.
  const port = String(await findFreePort());

  const begun = performance.now();
  const { key } = await service.createSandbox();
  const project = join(service.directory, "project");
  await mkdir(project);
  writeFileSync(join(project, "verify.py"), verify);
  const env = { PATH: path, HOME: project };
  // A separate process group, so that background processes of the page can be ended with it.
  const shell = spawn("bash", ["-e"], { cwd: project, env, detached: true });
  let said = "";
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  try {
    let verifiedAfter = Infinity;
    for (const [index, block] of blocks.entries()) {
      const text = block.replace("{base_url}", service.url).replace("bss_test_…", key).replaceAll("4000", port);
      shell.stdin.write(`${text}\necho "[block ${index} is done]"\n`);
      await until(() => said.includes(`[block ${index} is done]`) || shell.exitCode !== null);
      expect(shell.exitCode, said).toBeNull();
      if (block.includes(" listen ")) {
        await until(() => said.includes("\nverified ride.completed\n"));
        verifiedAfter = performance.now() - begun;
      }
    }
    expect(verifiedAfter).toBeLessThan(60_000);
    // None of the responses to the HTTP commands is an error.
    expect(said).not.toContain('"error"');
    expect(said).toContain('"advanced_seconds":900');
    expect(said).toContain('"seed":7');
    expect(said).toMatch(/ride\.completed: ride_\w+/);
    expect(said).toMatch(/reservation \S+|is reserved/);
  } finally {
    const ended = once(shell, "exit");
    process.kill(-(shell.pid ?? 0), "SIGKILL");
    if (shell.exitCode === null && shell.signalCode === null) await ended;
  }
}, 120_000);
