import type { Station } from "@bikeshare/contract";
import type { NewEvent } from "../events/outbox.ts";

/**
 * The event of a station's change of state: it goes offline when it leaves `online`, and online when it comes there;
 * no other change makes one.
 */
export function edgeEvent(from: Station["status"], to: Station["status"], wire: string, occurredAt: Date): NewEvent[] {
  if (from === to || (from !== "online" && to !== "online")) return [];
  return [{ name: to === "online" ? "station.online" : "station.offline", occurredAt, partnerId: null, data: wire }];
}
