import type { BatchResults, BikeReport } from "@bikeshare/contract";
import type { ActorContext } from "../../command-context.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { reportBikes } from "./bike-commands.ts";
import { bringStationsOnline, takeStationsOffline } from "./station-commands.ts";

// Changes that people of the operator make by hand. The audit log records them, but not the reports of their backend.

/** Takes a station offline until somebody brings it back online, or brings it back online. */
export function setStationState(
  context: ActorContext,
  systemId: string,
  id: string,
  state: "offline" | "online",
): Promise<BatchResults> {
  const command = state === "offline" ? takeStationsOffline : bringStationsOnline;
  return recorded(context, { systemId, id, action: `station.${state}`, detail: {} }, (tx) =>
    command({ ...context, db: tx }, systemId, [{ item: { id } }]),
  );
}

/** Sets the state of a bike, as if the bike had reported that state now. */
export function setBikeState(
  context: ActorContext,
  systemId: string,
  id: string,
  state: NonNullable<BikeReport["vehicle_state"]>,
): Promise<BatchResults> {
  const report: BikeReport = { id, at: new Date(context.clock()).toISOString(), vehicle_state: state };
  return recorded(context, { systemId, id, action: "bike.state_set", detail: { state } }, (tx) =>
    reportBikes({ ...context, db: tx }, systemId, [{ item: report }]),
  );
}

/** The audit entry of an act on the station or bike with the id `id`. */
interface RecordedAct {
  readonly systemId: string;
  readonly id: string;
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Runs a command on one station or bike. If it changed anything, writes an audit entry in the same transaction. */
function recorded(
  context: ActorContext,
  { systemId, id, action, detail }: RecordedAct,
  run: (tx: Transaction) => Promise<BatchResults>,
): Promise<BatchResults> {
  return context.db.transaction(async (tx) => {
    const done = await run(tx);
    if (done.results[0]?.outcome === "updated")
      await insertActOf(context, tx, { systemId, action, subject: id, detail });
    return done;
  });
}
