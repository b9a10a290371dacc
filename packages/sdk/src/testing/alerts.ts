import type { Alert } from "../json-types.generated.ts";
import { type City, instant, recordEvent } from "./city.ts";
import { blank } from "./contract.generated.ts";
import { timeOfChange } from "./rules.ts";

/*
 * The alerts to riders in a fake, which imitates the service in memory for partners' tests. A closure is the alert with
 * which a station is taken offline; `city.closures` has its station. As in the service, a change that happens now is later
 * than the alert's previous change (`timeOfChange` with `true`).
 */

/** The fields of an alert. Omitted fields of a new alert get defaults; those of an open alert stay as they were. */
export type AlertFields = Partial<Alert> & Pick<Alert, "id">;

/** Opens an alert, or changes an open one. */
export function openAlert(city: City, fields: AlertFields): void {
  const stored = city.alerts.get(fields.id);
  const open = stored?.ended_at === null ? stored : undefined;
  const at = instant(timeOfChange(city.now(), stored && Date.parse(stored.updated_at), true));
  const made = { ...blank.Alert, type: "other" as const, summary: fields.id, opened_at: at };
  const alert: Alert = { ...(open ?? made), updated_at: at, ...fields };
  city.alerts.set(alert.id, alert);
  if (open === undefined && alert.ended_at === null) recordEvent(city, { event: "alert.opened", data: alert });
}

/** Ends an alert, unless it has ended. @param at when the alert's times were over; default: it is ended now */
export function endAlert(city: City, id: string, at?: number): void {
  const alert = city.alerts.get(id);
  if (alert === undefined || alert.ended_at !== null) return;
  const updated = Date.parse(alert.updated_at);
  const ended_at = instant(at === undefined ? timeOfChange(city.now(), updated, true) : Math.max(at, updated));
  const ended = { ...alert, ended_at, updated_at: ended_at };
  city.alerts.set(id, ended);
  recordEvent(city, { event: "alert.ended", occurred_at: ended_at, data: ended });
}

/** Ends the alerts whose times are over. */
export function endPastAlerts(city: City): void {
  for (const { id, times } of city.alerts.values()) {
    const last = Math.max(...times.map(({ end }) => (end === null ? Infinity : Date.parse(end))));
    if (times.length > 0 && last <= city.now()) endAlert(city, id, last);
  }
}

/** Opens an alert for a station that is taken offline, or changes the station's open closure alert. */
export function openClosure(city: City, stationId: string, summary: string): void {
  const id = openClosureOf(city, stationId) ?? city.nextId("alert");
  city.closures.set(id, stationId);
  openAlert(city, { id, type: "station_closure", summary, station_ids: [stationId] });
}

/** Ends the alert with which a station was taken offline. */
export function endClosure(city: City, stationId: string): void {
  const id = openClosureOf(city, stationId);
  if (id !== undefined) endAlert(city, id);
}

function openClosureOf(city: City, stationId: string): string | undefined {
  const closures = [...city.closures].filter(([, closed]) => closed === stationId);
  return closures.find(([id]) => city.alerts.get(id)?.ended_at === null)?.[0];
}
