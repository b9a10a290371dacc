import fc from "fast-check";
import { expect, it } from "vitest";
import {
  checkMail,
  type CheckState,
  isActive,
  type Notice,
  type Sighting,
  whenFound,
  whenQuiet,
} from "./check-state.rules.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const sighting: Sighting = {
  ...{ name: "feeds", of: "", severity: "warning", results: [] },
  ...{ detail: "the feed station_status was last good 25 min ago", fix: "The log of the worker says why." },
};

/**
 * Runs a check once a minute, which finds something or nothing.
 * @returns the notices that were mailed, by minute
 */
function run(minutes: number, isFound: (minute: number) => boolean): [minute: number, notice: Notice][] {
  const sent: [number, Notice][] = [];
  let state: CheckState | undefined;
  for (let minute = 0; minute <= minutes; minute++) {
    const now = minute * MINUTE;
    if (!isFound(minute) && state === undefined) continue;
    const { next, notice } =
      isFound(minute) || state === undefined ? whenFound(state, sighting, now) : whenQuiet(state, now);
    state = next;
    if (notice !== undefined) sent.push([minute, notice]);
  }
  return sent;
}

it("one mail when it begins, a reminder a day, and one when it is over; nothing of what lasts a moment", () => {
  expect(run(60, (minute) => minute < 2)).toEqual([]);
  expect(run(60, (minute) => minute < 10)).toEqual([
    [2, "begins"],
    [14, "ends"],
  ]);
  expect(run(3_000, (minute) => minute < 2_900).map(([, notice]) => notice)).toEqual([
    "begins",
    "lasts",
    "lasts",
    "ends",
  ]);
});

it("one mail more when a warning becomes a failure, however often it wavers", () => {
  const severityAt = (minute: number) => (minute >= 20 && minute % 2 === 0 ? "failure" : "warning");
  const sent: [number, Notice | undefined][] = [];
  let state: CheckState | undefined;
  for (let minute = 0; minute < 60; minute++) {
    const found = whenFound(state, { ...sighting, severity: severityAt(minute) }, minute * MINUTE);
    state = found.next;
    if (found.notice !== undefined) sent.push([minute, found.notice]);
  }
  expect(sent).toEqual([
    [2, "begins"],
    [20, "worsens"],
  ]);
  expect(state).toMatchObject({ severity: "failure" });
});

it("what comes and goes, however, is a few mails a day, each end after its beginning", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 400 }), (on, off) => {
      const sent = run(2 * 1_440, (minute) => minute % (on + off) < on);
      const firstDay = sent.filter(([minute]) => minute * MINUTE < DAY);
      expect(firstDay.length).toBeLessThanOrEqual(20);
      expect(sent.length - firstDay.length).toBeLessThanOrEqual(20);
      const pairs = sent.map(([, notice]) => notice).filter((notice) => notice !== "lasts");
      expect(pairs.every((notice, index) => notice === (index % 2 === 0 ? "begins" : "ends"))).toBe(true);
    }),
  );
});

it("a mail says what is wrong, since when, and what to do", () => {
  const state = whenFound(undefined, sighting, Date.UTC(2026, 4, 1, 12, 30)).next;
  if (state === undefined) throw new Error("nothing is kept");
  expect(isActive(state)).toBe(false);
  const { subject, text } = checkMail(state, "begins", {
    serviceName: "Oslo Bikes",
    page: "https://x.example/dashboard",
  });
  expect(subject).toBe("Feeds: the feed station_status was last good 25 min ago");
  expect(text).toContain("Oslo Bikes");
  expect(text).toContain("Since 2026-05-01 12:30 UTC.");
  expect(text).toContain("What to do: The log of the worker says why.");
  expect(text).toContain("Acknowledge it, so that no more mails come: https://x.example/dashboard\n");
  expect(checkMail({ ...state, of: "node-1" }, "ends", { serviceName: "Oslo Bikes" })).toEqual({
    subject: "Over: feeds",
    text: "Feeds, of Oslo Bikes, node-1: this is over.\nIt lasted from 2026-05-01 12:30 UTC to 2026-05-01 12:30 UTC.\n",
  });
});
