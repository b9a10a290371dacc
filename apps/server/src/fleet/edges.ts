import type { Station } from "@bikeshare/contract";
import { stationChangeEvent } from "@bikeshare/rules";
import type { NewEvent } from "../events/outbox.ts";

/** The event of a station's change of state, if it makes one. */
export function edgeEvent(from: Station["status"], to: Station["status"], json: string, occurredAt: Date): NewEvent[] {
  const name = stationChangeEvent(from, to);
  return name === undefined ? [] : [{ name, occurredAt, partnerId: null, data: json }];
}
