import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { sandboxScenarios } from "@bikeshare/contract/sandbox";
import { findFreePort } from "@bikeshare/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServeHarness, startServe } from "./serve.harness.ts";

const hasPython = await promisify(execFile)("python3", ["--version"]).then(
  () => true,
  () => false,
);

describe.skipIf(!hasPython)(`a foreign integration${hasPython ? "" : " (skipped: no python3)"}`, () => {
  let service: ServeHarness;
  beforeAll(async () => {
    service = await startServe();
  });
  afterAll(() => service.close());

  it("that has nothing of ours plays every scenario, verifies what it is sent by the rules of Standard Webhooks, and sits through no delay", async () => {
    const { partnerId, systemId, key } = await service.createSandbox();
    const port = await findFreePort();
    const events = "ride.*,station.*,reservation.*,alert.*";
    const settings = ["--url", `http://127.0.0.1:${port}/`, "--events", events, "--signature", "both"];
    const { secret } = await service.bikeshare(
      ...["--system", systemId, "webhooks", "set", "--partner", partnerId],
      ...settings,
    );
    const program = join(import.meta.dirname, "foreign_integration.py");
    const run = spawn("python3", [program, service.url, String(port)]);
    run.stdin.end(`${key}\n${secret}\n`);
    let played = "";
    let problems = "";
    run.stdout.setEncoding("utf8").on("data", (text: string) => (played += text));
    run.stderr.setEncoding("utf8").on("data", (text: string) => (problems += text));
    const [status] = (await once(run, "close")) as [number];
    expect(problems).toBe("");
    expect([status, played.trim().split("\n")]).toEqual([0, Object.keys(sandboxScenarios)]);
  }, 300_000);
});
