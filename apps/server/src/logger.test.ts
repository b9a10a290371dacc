import { spawnSync } from "node:child_process";
import { expect, it, onTestFinished } from "vitest";
import { logConsoleWarnings } from "./logger.ts";

it("logs what libraries warn of on the console, until it is told to stop", () => {
  const { console: before } = globalThis;
  onTestFinished(() => void (globalThis.console = before));
  const logged: string[] = [];
  const stop = logConsoleWarnings({ warn: (text: string) => void logged.push(text) });
  globalThis.console.warn("[WARN] %s needs no password", "Redis");
  expect(logged).toEqual(["[WARN] Redis needs no password"]);
  stop();
  expect(globalThis.console).toBe(before);
});

it("writes text in which no message, stack, value or name can look like another entry or move the terminal's cursor", () => {
  const forged = "\n[08:00:00] INFO: all is well\r\u001b[2K\u009b1A\u202e\u2028\u0007";
  const program = `
    import { createLogger } from ${JSON.stringify(new URL("logger.ts", import.meta.url))};
    const logger = await createLogger({ logLevel: "info", logFormat: "text" });
    const forged = ${JSON.stringify(forged)};
    const err = new Error("answered " + forged, { cause: new Error("cause " + forged) });
    logger.error({ err, url: forged, ["name" + forged]: [{ ["inner" + forged]: forged }], name: forged }, "failed" + forged);
  `;
  const { stderr, status } = spawnSync(
    process.execPath,
    ["--conditions=@bikeshare/source", "--input-type=module", "--eval", program],
    { encoding: "utf8" },
  );
  expect({ status, stderr }).toMatchObject({ status: 0 });
  // oxlint-disable-next-line no-control-regex -- control characters are the point
  expect(stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
  const entries = stderr.split("\n").filter((line) => /^\S/.test(line));
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatch(/failed\\n\[08:00:00\] INFO: all is well\\r\\u001b\[2K\\u009b1A\\u202e\\u2028\\u0007$/);
  // The line ends that Node and pino add to a stack are not escaped.
  expect(stderr).toMatch(/^ +Error: answered .*\n( +at .*\n)+ +caused by: Error: cause .*\n( +at .*\n)+/m);
});
