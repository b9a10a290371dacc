import type { Ids } from "../ids.ts";

/** Random bytes in a public id: so many that nobody ever meets one twice, and nothing can be read from it. */
const RANDOM_BYTES = 15;

/** A public id for a bike: random alone. Were the time of its making in it, it would tell when the last ride ended. */
export function newPublicId(ids: Ids): string {
  return `v_${Buffer.from(ids.randomBytes(RANDOM_BYTES)).toString("base64url")}`;
}
