import type { EventName, EventRecord, KnownEventRecord, Scope } from "../wire.generated.ts";
import type { City, RecordedEvent } from "./city.ts";
import { instant } from "./clock.ts";
import { EVENT_RETENTION_DAYS, scopeNames } from "./contract.generated.ts";

/** What an event carries. */
export type DataOf<Name extends EventName> = Extract<KnownEventRecord, { event: Name }>["data"];

/** Records that something happened. */
export function recordEvent<Name extends EventName>(
  city: City,
  event: Name,
  data: DataOf<Name>,
  occurredAt: string = instant(city.now()),
  partnerId: string | null = null,
): void {
  const record = { id: city.nextId("event"), event, occurred_at: occurredAt, data: structuredClone(data) };
  addEvent(city, record as unknown as EventRecord, partnerId); // `data` is what an event of this name carries
}

/** Puts an event at the end of the list. */
export function addEvent(city: City, shown: EventRecord, partnerId: string | null): void {
  const position = (city.events.at(-1)?.position ?? 0) + 1;
  city.events.push({ shown, position, at: city.now(), partnerId });
}

/** Whose eyes look at the events. */
export interface Viewer {
  readonly partnerId: string;
  readonly scopes: readonly Scope[];
}

/** The events that are kept and that a viewer may see, oldest first. */
export function visibleEvents({ events, now }: City, { partnerId, scopes }: Viewer): readonly RecordedEvent[] {
  const oldest = now() - EVENT_RETENTION_DAYS * 86_400_000;
  return events.filter(
    (event) =>
      event.at > oldest &&
      (event.partnerId === null || event.partnerId === partnerId) &&
      isReadable(event.shown.event, scopes),
  );
}

/** Whether the scope of its resource is there. Of a resource newer than this package there is none to ask for. */
function isReadable(event: string, scopes: readonly Scope[]): boolean {
  const asked = `${event.split(".")[0]}s:read`;
  const scope = scopeNames.find((name) => name === asked);
  return scope === undefined || scopes.includes(scope);
}
