import { describe, expect, test } from "vitest";
import {
  type ChoosableBike,
  chooseBike,
  expiryOf,
  type ReservationCommand,
  type ReservationStatus,
  reservationTransitions,
  statusAt,
} from "./reservation.ts";

const final = ["fulfilled", "cancelled", "expired"] as const;
const commands: readonly ReservationCommand[] = ["fulfil", "cancel", "expire"];

describe("a reservation's life", () => {
  test("an active reservation becomes whatever it is told to", () => {
    expect(commands.map((command) => reservationTransitions.active[command])).toEqual([
      "fulfilled",
      "cancelled",
      "expired",
    ]);
  });

  test.each(final)("%s is final", (status) => {
    for (const command of commands) expect(["same", "conflict"]).toContain(reservationTransitions[status][command]);
  });

  test("cancelling a cancelled one finds it done; a fulfilled or expired one cannot be cancelled", () => {
    expect(final.map((status) => reservationTransitions[status].cancel)).toEqual(["conflict", "same", "conflict"]);
  });
});

test("an active reservation is expired from expires_at on, to the millisecond; the others stay what they are", () => {
  const expires_at = new Date("2026-06-01T12:15:00.000Z");
  const before = new Date(expires_at.getTime() - 1);
  const statuses: readonly ReservationStatus[] = ["active", ...final];
  expect(statuses.map((status) => statusAt({ status, expires_at }, before))).toEqual(statuses);
  expect(statuses.map((status) => statusAt({ status, expires_at }, expires_at))).toEqual(["expired", ...final]);
});

test("a hold lasts 15 minutes unless it says otherwise", () => {
  const from = new Date("2026-06-01T12:00:00.000Z");
  expect(expiryOf(from).toISOString()).toBe("2026-06-01T12:15:00.000Z");
  expect(expiryOf(from, 30).toISOString()).toBe("2026-06-01T12:30:00.000Z");
});

describe("the bike that is chosen", () => {
  const bike = (id: string, range: number | null, fields: Partial<ChoosableBike> = {}): ChoosableBike => ({
    id,
    vehicle_type_id: "classic",
    vehicle_state: "available",
    station_id: "s",
    current_range_meters: range,
    ride_id: null,
    reservation_id: null,
    ...fields,
  });
  const any = { stationId: "s", vehicleTypeId: null };

  test("has the longest range; the id breaks ties, and an unknown range is the shortest", () => {
    expect(chooseBike([bike("a", null), bike("d", 7), bike("c", 9), bike("b", 9)], any)?.id).toBe("b");
    expect(chooseBike([bike("b", null), bike("a", null), bike("c", 0)], any)?.id).toBe("c");
    expect(chooseBike([bike("b", null), bike("a", null)], any)?.id).toBe("a");
  });

  test("is free, at the station, and of the type", () => {
    const unfit = [
      bike("held", 9, { reservation_id: "r" }),
      bike("ridden", 9, { ride_id: "r" }),
      bike("broken", 9, { vehicle_state: "non_operational" }),
      bike("elsewhere", 9, { station_id: "t" }),
      bike("nowhere", 9, { station_id: null }),
    ];
    expect(chooseBike(unfit, any)).toBeUndefined();
    expect(chooseBike([...unfit, bike("fit", 1)], any)?.id).toBe("fit");
    expect(chooseBike([bike("a", 1)], { ...any, vehicleTypeId: "cargo" })).toBeUndefined();
  });
});
