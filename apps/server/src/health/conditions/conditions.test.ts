import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { DatabaseUnavailable } from "../../storage/db/errors.ts";
import { SecretsFileMismatch } from "../../webhooks/endpoints/secret.ts";
import { type Conditions, createConditions } from "./conditions.ts";

interface Line {
  readonly at: number;
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly detail: Record<string, unknown>;
}

let now: number;
let lines: Line[];
let conditions: Conditions;

const write =
  (level: Line["level"]) =>
  (detail: object, message: string): void =>
    void lines.push({ at: now, level, message, detail: { ...detail } });

beforeEach(() => {
  now = 0;
  lines = [];
  conditions = createConditions({
    monotonic: () => now,
    log: { info: write("info"), warn: write("warn"), error: write("error") },
  });
});

/**
 * Advances the time: calls `each` every quarter of a second, and checks the conditions every five seconds as the service
 * does.
 */
function letPass(milliseconds: number, each?: () => void): void {
  for (const end = now + milliseconds; now < end;) {
    now += 250;
    each?.();
    if (now % 5_000 === 0) conditions.check();
  }
}

const messages = () => lines.map(({ at, level, message }) => [at / 1000, level, message]);
const pgError = (code: string, message: string) => Object.assign(new Error(message), { code });

it("a database that is away is one line at once, one a minute with a count, and one when it is back", () => {
  const numbering = conditions.of("numbering events");
  const sending = conditions.of("sending webhooks");
  letPass(150_000, () => {
    numbering.failed(new DatabaseUnavailable("connect ECONNREFUSED 127.0.0.1:5432"));
    sending.failed(pgError("57P03", "the database system is starting up"));
  });
  letPass(60_000);
  expect(messages()).toEqual([
    [0.25, "error", "the database cannot be reached; retrying until it is back"],
    [60.25, "error", "the database still cannot be reached"],
    [120.25, "error", "the database still cannot be reached"],
    [165, "info", "the database can be reached again"],
  ]);
  const [first, second, , last] = lines.map(({ detail }) => detail);
  expect(first).toEqual({
    condition: "database_unreachable",
    work: "numbering events",
    reason: "connect ECONNREFUSED 127.0.0.1:5432",
  });
  // Both works fail every quarter of a second for a minute: 480 failures.
  expect(second).toMatchObject({ works: ["numbering events", "sending webhooks"], failures: 480, seconds: 60 });
  expect(last).toEqual({ condition: "database_unreachable", failures: 1200, seconds: 165 });
});

it("a database that is back is said to be, though something failed for it that is tried again in a quarter of an hour", () => {
  const seldom = conditions.of("forgetting old answers", { quietMs: 900_000 });
  const often = conditions.of("numbering events");
  letPass(5_000, () => {
    seldom.failed(new DatabaseUnavailable("connection lost"));
    often.failed(new DatabaseUnavailable("connection lost"));
  });
  letPass(20_000);
  expect(messages().at(-1)).toEqual([20, "info", "the database can be reached again"]);
});

it("ends at once where the work says that it was done, and not before every work is well", () => {
  const one = conditions.of("one");
  const other = conditions.of("other");
  one.failed(pgError("53100", "could not extend file: No space left on device"));
  other.failed(pgError("53100", "could not extend file: No space left on device"));
  one.succeeded();
  expect(conditions.isOngoing("disk_full")).toBe(true);
  other.succeeded();
  expect(conditions.isOngoing("disk_full")).toBe(false);
  expect(lines.map(({ message }) => message)).toEqual([
    "the disk is full: nothing can be stored until there is room",
    "there is disk space again",
  ]);
  other.succeeded();
  letPass(60_000);
  expect(lines).toHaveLength(2);
});

it("waits for a success, however long, where the work reports every one", () => {
  const feed = conditions.of("following https://feeds.example/gbfs.json", {
    quietMs: Number.POSITIVE_INFINITY,
    level: "warn",
    detail: { source: "gbfs" },
  });
  feed.failed(Object.assign(new Error("HTTP 500"), { condition: "feed_failing" }));
  letPass(600_000);
  feed.succeeded();
  expect(lines.map(({ level, detail }) => [level, detail])).toEqual([
    [
      "warn",
      {
        source: "gbfs",
        condition: "feed_failing",
        work: "following https://feeds.example/gbfs.json",
        reason: "HTTP 500",
      },
    ],
    ["info", { condition: "feed_failing", failures: 1, seconds: 600 }],
  ]);
});

describe("the stack", () => {
  it("of a known cause is not logged", () => {
    const work = conditions.of("sending webhooks");
    work.failed(
      new SecretsFileMismatch("The secret of endpoint_1 was encrypted with a key that this file does not have."),
    );
    work.failed(pgError("53300", "too many clients"));
    work.failed(
      new AggregateError([pgError("ECONNREFUSED", "refused by ::1"), pgError("ECONNREFUSED", "by 127.0.0.1")]),
    );
    expect(lines.map(({ detail }) => [detail["condition"], detail["reason"], "err" in detail])).toEqual([
      ["secrets_file_mismatch", expect.stringMatching(/^The secret of endpoint_1/), false],
      ["database_busy", "too many clients", false],
      ["database_unreachable", "refused by ::1; by 127.0.0.1", false],
    ]);
  });

  it("of an unknown one is logged once, whatever its message holds", () => {
    const work = conditions.of("numbering events");
    let row = 0;
    letPass(130_000, () => work.failed(new TypeError(`row ${row++} is not a row`)));
    expect(lines.map(({ message, detail }) => [message, "err" in detail])).toEqual([
      ["numbering events failed; retrying soon", true],
      ["numbering events still fails", false],
      ["numbering events still fails", false],
    ]);
    expect(lines[1]?.detail).toMatchObject({ failures: 240, reason: "row 240 is not a row" });
  });
});

it("writes nothing about a condition once it has written its end", () => {
  const work = conditions.of("work");
  work.failed(new Error("unknown"));
  now += 10_000;
  work.failed(new Error("unknown"));
  now += 60_000;
  conditions.check();
  expect(lines.map(({ level }) => level)).toEqual(["error", "info"]);
});

it("counts every failure in exactly one line, with never two lines within a minute, whatever fails when", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ after: fc.integer({ min: 0, max: 40_000 }), fails: fc.boolean() })), (steps) => {
      now = 0;
      lines = [];
      const work = conditions.of("work");
      let failures = 0;
      for (const { after, fails } of steps) {
        now += after;
        conditions.check();
        if (!fails) continue;
        failures++;
        work.failed(new Error("unknown"));
      }
      // Waits until the last condition is written and has ended.
      now += 60_000;
      conditions.check();
      const ended = lines.filter(({ level }) => level === "info");
      expect(ended.reduce((sum, { detail }) => sum + Number(detail["failures"]), 0)).toBe(failures);
      let last = Number.NEGATIVE_INFINITY;
      for (const { at, level, message } of lines) {
        if (level === "info") last = Number.NEGATIVE_INFINITY;
        else {
          expect(at - last, message).toBeGreaterThanOrEqual(60_000);
          last = at;
        }
      }
    }),
  );
});
