import { afterEach, beforeEach, expect, it } from "vitest";
import { openReservationsRoom, type ReservationsRoom } from "../../test/reservations/reservations.harness.ts";
import { removePartner } from "../partners/removal.ts";
import { suspendPartner } from "../partners/suspension.ts";

let room: ReservationsRoom;
beforeEach(async () => {
  room = await openReservationsRoom();
  await room.fill("s1", [{ id: "b1" }, { id: "b2" }, { id: "b3" }, { id: "b4" }]);
});
afterEach(() => room.close());

const acting = () => ({ ...room.live, actor: "test" });

it("removing a partner cancels its active reservations in the operator's name and frees their bikes, and no other's", async () => {
  const lapsed = await room.create({ station_id: "s1", hold_minutes: 1 });
  room.clock.advance(60_000);
  const [first, second] = [await room.create({ bike_id: "b3" }), await room.create({ bike_id: "b4" })];
  const others = await room.create({ station_id: "s1" }, "partner-2");
  const removed = await removePartner(acting(), room.systemId, "partner-1");
  expect(removed.cancelled_reservations).toBe(2);
  for (const { id } of [first, second]) {
    expect(await room.get(id)).toMatchObject({ status: "cancelled", cancel_reason: "operator" });
  }
  expect(await room.get(lapsed.id)).toMatchObject({ status: "expired" });
  expect(await room.get(others.id, "partner-2")).toMatchObject({ status: "active" });
  expect(await room.counters("s1")).toMatchObject({ num_bikes_available: 3, num_bikes_reserved: 1 });
  expect(await room.bike("b3")).toMatchObject({ vehicle_state: "available", reservation_id: null });
  const cancelled = (await room.events()).filter(({ name }) => name === "reservation.cancelled");
  expect(cancelled).toHaveLength(2);
});

it("a request that was under way when its partner was suspended or removed holds no bike", async () => {
  await suspendPartner(acting(), room.systemId, "partner-1");
  await expect(room.create({ station_id: "s1" })).rejects.toMatchObject({ code: "unauthorized" });
  await removePartner(acting(), room.systemId, "partner-2");
  await expect(room.create({ station_id: "s1" }, "partner-2")).rejects.toMatchObject({ code: "unauthorized" });
  // All at once: what was made before the removal is cancelled, and nothing is made after it.
  const made = Array.from({ length: 8 }, () => room.create({ station_id: "s1" }, "partner-3").catch(() => undefined));
  const [removed, ...holds] = await Promise.all([removePartner(acting(), room.systemId, "partner-3"), ...made]);
  const statuses = await Promise.all(holds.map(async (hold) => hold && (await room.get(hold.id, "partner-3"))?.status));
  expect(new Set(statuses.filter((each) => each !== undefined))).not.toContain("active");
  expect(statuses.filter((each) => each === "cancelled")).toHaveLength(removed.cancelled_reservations);
  expect(await room.counters("s1")).toMatchObject({ num_bikes_available: 4, num_bikes_reserved: 0 });
});
