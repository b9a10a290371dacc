import { namedUuid } from "../../uuids.ts";

/** What a UUID that agencies see names. */
type NamedKind = "device" | "trip" | "stop" | "telemetry" | "event";

/** Returns the UUID by which agencies know a thing of a system. */
export type UuidNames = (kind: NamedKind, id: string) => string;

/** UUIDs that are kept: those of one answer repeat. */
const MAX_KEPT = 10_000;

/**
 * UUIDs of version 5: an id always gets the same one, so that no table is needed.
 * @param namespace a secret UUID: without it nobody who knows ids can tell which UUID is whose
 */
export function uuidNames(namespace: string): UuidNames {
  const kept = new Map<string, string>();
  return (kind, id) => {
    const name = `${kind} ${id}`;
    const known = kept.get(name);
    if (known !== undefined) return known;
    if (kept.size >= MAX_KEPT) kept.clear();
    const uuid = namedUuid(namespace, name);
    kept.set(name, uuid);
    return uuid;
  };
}
