import { expect, it } from "vitest";
import { createConditions } from "../../health/conditions/conditions.ts";
import { createWorkCheck } from "./hang-watch.ts";

const MINUTE = 60_000;

/** A process whose background work runs as the test says. */
function startProcess() {
  const conditions = createConditions({
    monotonic: () => 0,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  const hung: string[] = [];
  const check = createWorkCheck({ timeoutMs: MINUTE, conditions, onHang: (work, s) => void hung.push(`${work} ${s}`) });
  const runMinutes = (minutes: number) => {
    for (let second = 0; second < minutes * 60; second++) check(1_000);
  };
  const begin = (work: string, maxSilenceMs: number) => {
    const { watch } = conditions.of(work);
    watch.start(1_000, maxSilenceMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    let getOn = () => {};
    const ended = watch.run((gotOn) => {
      getOn = gotOn;
      return promise;
    });
    return { watch, getOn, end: resolve, ended };
  };
  return { hung, runMinutes, begin };
}

it("a run that does not get on for longer than its work may go without a success is one that hangs, once", () => {
  const { hung, runMinutes, begin } = startProcess();
  begin("sending webhooks", 5 * MINUTE);
  runMinutes(5);
  expect(hung).toEqual([]);
  runMinutes(10);
  expect(hung).toEqual(["sending webhooks 301"]);
});

it("the time-out holds where a work may be silent for less", () => {
  const { hung, runMinutes, begin } = startProcess();
  begin("numbering events", 1);
  runMinutes(1);
  expect(hung).toEqual([]);
  runMinutes(1);
  expect(hung).toEqual(["numbering events 61"]);
});

it("what gets on, ends, or fails does not hang, however long it takes", async () => {
  const { hung, runMinutes, begin } = startProcess();
  const long = begin("deleting old answers", 5 * MINUTE);
  for (let batch = 0; batch < 10; batch++) {
    runMinutes(4);
    long.watch.gotOn();
  }
  long.end();
  await long.ended;
  runMinutes(60);
  const failing = long.watch.run(() => Promise.reject(new Error("the database is away")));
  await expect(failing).rejects.toThrow("away");
  runMinutes(60);
  expect(hung).toEqual([]);
});

it("one run that hangs is found beside others of its work that end", async () => {
  const { hung, runMinutes, begin } = startProcess();
  const { watch } = begin("numbering events", 5 * MINUTE);
  for (let minute = 0; minute < 6; minute++) {
    await watch.run(() => Promise.resolve());
    runMinutes(1);
  }
  expect(hung).toEqual(["numbering events 301"]);
});

it("one run that hangs is found beside another that gets on", () => {
  const { hung, runMinutes, begin } = startProcess();
  begin("numbering events", 5 * MINUTE);
  const other = begin("numbering events", 5 * MINUTE);
  for (let minute = 0; minute < 6; minute++) {
    other.getOn();
    runMinutes(1);
  }
  expect(hung).toEqual(["numbering events 301"]);
});
