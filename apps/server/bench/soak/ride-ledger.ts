import type { OnAnswer } from "@bikeshare/simulator";
import type { Findings } from "./findings.ts";

/** A ride as the service acknowledged it. */
interface AcknowledgedRide {
  readonly bikeId: string;
  readonly startedAt: string | undefined;
  status: "started" | "completed" | "cancelled";
  endedAt: string | undefined;
}

/** Keeps what the operator's backend was promised about rides. */
export interface RideLedger {
  readonly onAnswer: OnAnswer;
  readonly rides: ReadonlyMap<string, AcknowledgedRide>;
}

export function createRideLedger(): RideLedger {
  const rides = new Map<string, AcknowledgedRide>();
  return {
    rides,
    onAnswer: ({ path, item }, { outcome }) => {
      // A repeat that finds it done is `unchanged`; what was promised stands already.
      if (outcome !== "created" && outcome !== "updated") return;
      if (path === "rides/start") {
        const { id, bike_id: bikeId, started_at: startedAt } = item;
        rides.set(id, { bikeId, startedAt, status: "started", endedAt: undefined });
      }
      const ride = rides.get(item.id);
      if (ride !== undefined && path === "rides/end")
        Object.assign(ride, { status: "completed", endedAt: item.ended_at });
      if (ride !== undefined && path === "rides/cancel")
        Object.assign(ride, { status: "cancelled", endedAt: item.cancelled_at });
    },
  };
}

/** Every acknowledged ride is there as acknowledged, and no other. */
export function compareRides(
  ledger: RideLedger,
  shown: readonly Record<string, unknown>[],
  { expect }: Findings,
): void {
  const byId = new Map(shown.map((ride) => [ride["id"], ride]));
  expect(byId.size === shown.length, () => `the walk of rides showed ${shown.length - byId.size} of them twice`);
  for (const [id, promised] of ledger.rides) {
    const ride = byId.get(id);
    const isSame =
      ride !== undefined &&
      ride["bike_id"] === promised.bikeId &&
      ride["status"] === promised.status &&
      ride["started_at"] === promised.startedAt &&
      (ride["ended_at"] ?? undefined) === promised.endedAt;
    expect(isSame, () => `ride ${id}: promised ${JSON.stringify(promised)}, shown ${JSON.stringify(ride)}`);
  }
  for (const id of byId.keys()) {
    expect(ledger.rides.has(String(id)), () => `ride ${String(id)} is shown, but its start was never acknowledged`);
  }
}
