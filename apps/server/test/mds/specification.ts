import type { MdsEvent } from "@bikeshare/contract/mds";
import { expect } from "vitest";

/**
 * The complete table of transitions from modes/micromobility.md of MDS 2.0.2: the states before, the state after, and the
 * type of the event. It is copied from the specification, not from the program.
 */
const TABLE = `
available | non_operational | battery_low
available | non_operational | maintenance
available | non_operational | off_hours
available | reserved | reservation_start
available | non_operational | system_suspend
available, elsewhere, non_operational, on_trip, removed, reserved | non_contactable | comms_lost
available, elsewhere, non_operational, on_trip, removed, reserved | non_contactable | unspecified
available, non_contactable, missing | non_operational | unspecified
available, non_operational, elsewhere | removed | compliance_pick_up
available, non_operational, elsewhere | removed | maintenance_pick_up
available, non_operational, elsewhere | removed | rebalance_pick_up
available, non_operational, elsewhere, non_contactable, missing | removed | agency_pick_up
available, non_operational, elsewhere, non_contactable, missing | removed | decommissioned
available, reserved | on_trip | trip_start
elsewhere | on_trip | trip_enter_jurisdiction
missing | available | located
missing | elsewhere | located
missing | non_operational | located
missing | on_trip | located
missing | removed | located
missing | reserved | located
non_contactable | available | comms_restored
non_contactable | elsewhere | comms_restored
non_contactable | non_operational | comms_restored
non_contactable | on_trip | comms_restored
non_contactable | removed | comms_restored
non_contactable | reserved | comms_restored
non_contactable | missing | not_located
non_contactable | missing | unspecified
non_contactable, missing | elsewhere | unspecified
non_contactable, missing | on_trip | unspecified
non_contactable, missing | reserved | unspecified
non_contactable, missing, non_operational, available, elsewhere | removed | unspecified
non_operational | available | battery_charged
non_operational | available | maintenance
non_operational | available | on_hours
non_operational | available | system_resume
non_operational, non_contactable, missing | available | unspecified
on_trip | on_trip | changed_geographies
on_trip | available | trip_cancel
on_trip | available | trip_end
on_trip | elsewhere | trip_leave_jurisdiction
removed, non_contactable, missing | available | agency_drop_off
removed, non_contactable, missing | available | provider_drop_off
reserved | available | reservation_cancel
`;

const allowed = new Set(
  TABLE.trim()
    .split("\n")
    .flatMap((line) => {
      const [from = "", to = "", type = ""] = line.split("|").map((cell) => cell.trim());
      return from.split(",").map((before) => `${before.trim()} ${type} ${to}`);
    }),
);

/**
 * Expects the log of each vehicle to follow the state machine of MDS.
 * @param first the states in which a vehicle may be before its first event
 * @returns the transitions that occurred
 */
export function expectMdsLogs(
  events: readonly MdsEvent[],
  first: readonly string[] = ["removed"],
): ReadonlySet<string> {
  const seen = new Set<string>();
  for (const log of Map.groupBy(events, ({ device_id: id }) => id).values()) {
    const ordered = log.toSorted((a, b) => a.timestamp - b.timestamp);
    const steps = (before: string) => `${before} ${ordered[0]?.event_types[0]} ${ordered[0]?.vehicle_state}`;
    let [state, time] = [first.find((each) => allowed.has(steps(each))) ?? "", Number.NEGATIVE_INFINITY];
    for (const event of ordered) {
      for (const type of event.event_types) {
        const step = `${state} ${type} ${event.vehicle_state}`;
        expect([step, allowed.has(step)]).toEqual([step, true]);
        seen.add(step);
      }
      expect(event.timestamp).toBeGreaterThan(time);
      [state, time] = [event.vehicle_state, event.timestamp];
    }
  }
  return seen;
}
