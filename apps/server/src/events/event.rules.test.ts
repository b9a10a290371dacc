import { describe, expect, it } from "vitest";
import { locate, readPosition, restrictedTo, viewerWith, writePosition } from "./event.rules.ts";

describe("who sees which events", () => {
  it("lets a key see the events of the resources it may read, and no others", () => {
    expect(viewerWith("p", ["events:read", "rides:read"]).names).toEqual([
      "ride.started",
      "ride.completed",
      "ride.cancelled",
      "ride.corrected",
    ]);
    expect(viewerWith("p", ["events:read", "stations:read"]).names).toEqual([
      "station.offline",
      "station.online",
      "alert.opened",
      "alert.ended",
      "station.below_threshold",
      "station.back_to_normal",
    ]);
    expect(viewerWith("p", ["events:read", "reservations:write"]).names).toEqual([]);
  });

  it("never shows more to one who looks for a name", () => {
    const viewer = viewerWith("p", ["rides:read"]);
    expect(restrictedTo(viewer, "ride.started").names).toEqual(["ride.started"]);
    expect(restrictedTo(viewer, "station.online").names).toEqual([]);
    expect(restrictedTo(viewer, undefined)).toEqual(viewer);
  });
});

describe("positions", () => {
  it("come back from their text", () => {
    const position = { day: "2026-06-01", position: 123_456_789_012 };
    expect(readPosition(writePosition(position))).toEqual(position);
  });

  it("are not read from anything else", () => {
    for (const text of ["", "2026-06-01", "2026-06-01 ", "2026-06-01 1x", "2026-06-01 -1", "1", "2026-06-01 1 "]) {
      expect(readPosition(text), text).toBeUndefined();
    }
  });
});

describe("the day in which a page begins", () => {
  const days = [
    { day: "2026-06-01", n: 3 },
    { day: "2026-06-02", n: 0 },
    { day: "2026-06-03", n: 2 },
  ];

  it("is the one that holds the event after those skipped", () => {
    const located = [0, 1, 2, 3, 4, 5].map((skip) => locate(days, skip));
    expect(located).toEqual([
      { day: "2026-06-01", skip: 0 },
      { day: "2026-06-01", skip: 1 },
      { day: "2026-06-01", skip: 2 },
      { day: "2026-06-03", skip: 0 },
      { day: "2026-06-03", skip: 1 },
      undefined,
    ]);
    expect(locate([], 0)).toBeUndefined();
  });
});
