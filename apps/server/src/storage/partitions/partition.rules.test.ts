import { describe, expect, it } from "vitest";
import {
  addDays,
  dailyTables,
  dayOf,
  dayOfPartition,
  daysAhead,
  daysPast,
  daysWithout,
  endOf,
  eventsTable,
  partitionOf,
} from "./partition.rules.ts";

describe("days and partitions", () => {
  it("begin at midnight UTC and follow each other over months and leap days", () => {
    expect(dayOf(Date.parse("2026-06-01T23:59:59.999Z"))).toBe("2026-06-01");
    expect(dayOf(Date.parse("2026-06-02T00:00:00.000Z"))).toBe("2026-06-02");
    expect([addDays("2028-02-28", 1), addDays("2026-12-31", 1), addDays("2026-03-01", -1)]).toEqual([
      "2028-02-29",
      "2027-01-01",
      "2026-02-28",
    ]);
  });

  it("are named one after the other, and nothing but a day is", () => {
    expect(partitionOf(eventsTable, "2026-06-01")).toBe("events_20260601");
    expect(dayOfPartition(eventsTable, "events_20260601")).toBe("2026-06-01");
    expect(dayOfPartition(eventsTable, "events_default")).toBeUndefined();
    expect(dayOfPartition(eventsTable, "webhook_bodies_20260601")).toBeUndefined();
    expect(() => partitionOf(eventsTable, "2026-06-01; drop table rides")).toThrow("not a day");
  });

  it("are made for today and tomorrow, where they are missing", () => {
    expect(daysWithout(eventsTable, ["events_20260601"], daysAhead("2026-06-01"))).toEqual(["2026-06-02"]);
  });

  it("are past once even their last row is older than 30 days", () => {
    const partitions = ["events_20260430", "events_20260501", "events_20260502", "events_20260601", "others"];
    expect(daysPast(eventsTable, partitions, "2026-06-01")).toEqual(["2026-04-30", "2026-05-01"]);
  });

  it("are months where a table has few rows, from the first to the last day, over the turn of the year", () => {
    const audit = dailyTables.find(({ name }) => name === "audit_log");
    if (audit === undefined) throw new Error("no audit log");
    expect(partitionOf(audit, "2026-12-31")).toBe("audit_log_202612");
    expect(dayOfPartition(audit, "audit_log_202612")).toBe("2026-12-01");
    expect(dayOfPartition(audit, "audit_log_20261231")).toBeUndefined();
    expect([endOf(audit, "2026-12-31"), endOf(audit, "2026-02-01"), endOf(audit, "2028-01-31")]).toEqual([
      "2027-01-01",
      "2026-03-01",
      "2028-02-01",
    ]);
    expect(daysWithout(audit, [], daysAhead("2026-12-30"))).toEqual(["2026-12-01"]);
    expect(daysWithout(audit, ["audit_log_202612"], daysAhead("2026-12-31"))).toEqual(["2027-01-01"]);
    const partitions = ["audit_log_202505", "audit_log_202506", "audit_log_default"];
    expect(daysPast(audit, partitions, "2026-06-01")).toEqual([]);
    expect(daysPast(audit, partitions, "2026-06-02")).toEqual(["2025-05-01"]);
  });

  it("go with deliveries before the bodies that those need", () => {
    const order = dailyTables.map(({ name }) => name);
    expect(order.indexOf("webhook_deliveries")).toBeLessThan(order.indexOf("webhook_bodies"));
  });
});
