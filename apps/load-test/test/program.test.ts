import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import type { RunResult } from "@bikeshare/load";
import { describe, expect, it, type TestContext } from "vitest";
import { runProgram } from "../src/program.ts";
import { startLoopbackServer } from "./loopback-server.ts";

/** Runs the command line in a new temporary directory. */
async function run({ onTestFinished }: TestContext, ...args: string[]) {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-load-test-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, "keys"), "bss_live_a\nbss_live_b\n");
  const written = { stdout: "", stderr: "" };
  const into = (name: "stdout" | "stderr") =>
    new Writable({
      write(chunk, _, done) {
        written[name] += String(chunk);
        done();
      },
    });
  const status = await runProgram(
    args.map((arg) => arg.replace("DIR", directory)),
    { stdout: into("stdout"), stderr: into("stderr"), signal: new AbortController().signal },
  );
  return { status, ...written, read: (name: string) => readFile(join(directory, name), "utf8") };
}

/** Runs a closed model, for which the start lag on a busy machine does not matter. */
async function runAgainst(context: TestContext, url: string, ...more: string[]) {
  const fixed = ["--closed", "--connections", "2", "--duration", "1s", "--keys", "DIR/keys", "--out", "DIR/report"];
  return run(context, "--url", url, "--scenario", "station-polling", "--check-every", "1", ...fixed, ...more);
}

describe.concurrent("the command line", () => {
  it("passes with 0, prints one JSON object, and writes both reports", async (context) => {
    const { url } = await startLoopbackServer(context);
    const { status, stdout, read } = await runAgainst(context, url, "--json", "--threshold", "p99<10s,unexpected<=0");
    const result = JSON.parse(stdout) as RunResult;
    expect(result).toMatchObject({ passed: true, violations: [], contract: { violations: [] } });
    expect(result.contract.checked).toBeGreaterThan(0);
    expect(JSON.parse(await read("report/result.json"))).toEqual(result);
    expect(await read("report/report.html")).toContain("<h2>Response times</h2>");
    expect(status).toBe(0);
  });

  it("a threshold that is broken fails with 1, and is named", async (context) => {
    const { url } = await startLoopbackServer(context);
    const { status, stdout } = await runAgainst(context, url, "--threshold", "rate>=20000,unexpected<=0");
    expect(stdout).toMatch(/^BROKEN rate>=20000/m);
    expect(stdout).toMatch(/^kept {3}unexpected<=0/m);
    expect(stdout).toMatch(/^Failed\.$/m);
    expect(status).toBe(1);
  });

  it("answers that break the contract fail the run, and the first thing wrong is named", async (context) => {
    const { url } = await startLoopbackServer(context, { body: '{"data":[{"id":7}],"page":1,"total_pages":1}' });
    const { status, stdout } = await runAgainst(context, url);
    expect(stdout).toContain("WRONG stations.list: 200: data.0.id: Expected string, received number");
    expect(status).toBe(1);
  });

  it("answers that were not expected fail the run, with their number", async (context) => {
    const { url } = await startLoopbackServer(context, { status: 500, body: '{"error":"internal","message":"x"}' });
    const { status, stdout } = await runAgainst(context, url);
    expect(stdout).toMatch(/^UNEXPECTED station-polling: \d+ × stations.list answered 500 internal/m);
    expect(stdout).toMatch(/^BROKEN unexpected<=0 \(\d+\)/m);
    expect(status).toBe(1);
  });

  it("what a service answers reaches no terminal as a command", async (context) => {
    const { url } = await startLoopbackServer(context, { body: '{"data":[],"page":1,"total_pages":1,"\\u001b[2J":1}' });
    const { status, stdout } = await runAgainst(context, url);
    expect(stdout).toContain("WRONG stations.list: 200: the body: Unrecognized key(s) in object: '\uFFFD[2J'");
    expect(status).toBe(1);
  });

  it("a service that is not there fails with 1", async (context) => {
    const { status, stderr } = await runAgainst(context, "http://127.0.0.1:9");
    expect(stderr).toContain("ECONNREFUSED");
    expect(status).toBe(1);
  });

  it.for<[string[], string]>([
    [["--url", "https://bikes.example.com", "--keys", "DIR/keys"], "say --yes to confirm"],
    [["--url", "ftp://127.0.0.1", "--keys", "DIR/keys"], "--url must be an http or https URL"],
    [["--url", "http://127.0.0.1:3000"], "--url needs --keys"],
    [["--scenario", "nothing"], "unknown: nothing. Known are cursor-walk"],
    [["--rate", "0"], "must be an integer from 1 to 20000"],
    [["--duration", "2d"], "must be a duration"],
    [["--threshold", "p99"], "must be such as p99<50ms"],
    [["--profile", "citibike", "--rate", "5"], "cannot be used with"],
    [["--profile", "citibike", "--url", "http://127.0.0.1:3000", "--keys", "DIR/keys"], "leave out --url"],
  ])("%j is wrong usage: 2, and says why", async ([args, reason], context) => {
    const { status, stderr } = await run(context, ...args);
    expect(stderr).toContain(reason);
    expect(status).toBe(2);
  });

  it("--help names every scenario and profile", async (context) => {
    const { status, stdout } = await run(context, "--help");
    for (const name of ["cursor-walk", "limit-storm", "webhooks", "citibike", "--find-knee", "--replay"]) {
      expect(stdout).toContain(name);
    }
    expect(status).toBe(0);
  });
});
