import { afterEach, beforeEach, expect, it } from "vitest";
import { openReservationsHarness, type ReservationsHarness } from "../../../test/reservations/reservations.harness.ts";
import { removePartner, suspendPartner } from "../../partners/suspend-or-remove.ts";

let harness: ReservationsHarness;
beforeEach(async () => {
  harness = await openReservationsHarness();
  await harness.fill("s1", [{ id: "b1" }, { id: "b2" }, { id: "b3" }, { id: "b4" }]);
});
afterEach(() => harness.close());

const acting = () => ({ ...harness.live, actor: "test" });

it("removing a partner cancels its active reservations in the operator's name and frees their bikes, and no other's", async () => {
  const overdue = await harness.create({ station_id: "s1", hold_minutes: 1 });
  harness.clock.advance(60_000);
  const [first, second] = [await harness.create({ bike_id: "b3" }), await harness.create({ bike_id: "b4" })];
  const others = await harness.create({ station_id: "s1" }, "partner-2");
  const removed = await removePartner(acting(), harness.systemId, "partner-1");
  expect(removed.cancelled_reservations).toBe(2);
  for (const { id } of [first, second]) {
    expect(await harness.get(id)).toMatchObject({ status: "cancelled", cancel_reason: "operator" });
  }
  expect(await harness.get(overdue.id)).toMatchObject({ status: "expired" });
  expect(await harness.get(others.id, "partner-2")).toMatchObject({ status: "active" });
  expect(await harness.counters("s1")).toMatchObject({ num_bikes_available: 3, num_bikes_reserved: 1 });
  expect(await harness.bike("b3")).toMatchObject({ vehicle_state: "available", reservation_id: null });
  const cancelled = (await harness.events()).filter(({ name }) => name === "reservation.cancelled");
  expect(cancelled).toHaveLength(2);
});

it("a request that was under way when its partner was suspended or removed holds no bike", async () => {
  await suspendPartner(acting(), harness.systemId, "partner-1");
  await expect(harness.create({ station_id: "s1" })).rejects.toMatchObject({ code: "unauthorized" });
  await removePartner(acting(), harness.systemId, "partner-2");
  await expect(harness.create({ station_id: "s1" }, "partner-2")).rejects.toMatchObject({ code: "unauthorized" });
  // Everything runs at once: reservations made before the removal are cancelled, and none is made after it.
  const made = Array.from({ length: 8 }, () =>
    harness.create({ station_id: "s1" }, "partner-3").catch(() => undefined),
  );
  const [removed, ...holds] = await Promise.all([removePartner(acting(), harness.systemId, "partner-3"), ...made]);
  const statuses = await Promise.all(
    holds.map(async (hold) => hold && (await harness.get(hold.id, "partner-3"))?.status),
  );
  expect(new Set(statuses.filter((each) => each !== undefined))).not.toContain("active");
  expect(statuses.filter((each) => each === "cancelled")).toHaveLength(removed.cancelled_reservations);
  expect(await harness.counters("s1")).toMatchObject({ num_bikes_available: 4, num_bikes_reserved: 0 });
});
