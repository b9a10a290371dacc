import { namedUuid } from "../../uuids.ts";

/** The kinds of things for which agencies see UUIDs instead of ids. */
type NamedKind = "device" | "trip" | "stop" | "telemetry" | "event";

/** Returns the UUID that agencies see instead of an id. */
export type UuidNames = (kind: NamedKind, id: string) => string;

/** Most UUIDs that are cached, because the same UUIDs occur again in one response. */
const MAX_KEPT = 10_000;

/**
 * Returns a function that computes UUIDs of version 5. The same id always gets the same UUID, so no table is needed.
 * @param namespace a secret UUID, without which nobody can compute the UUID of a known id
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
