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
