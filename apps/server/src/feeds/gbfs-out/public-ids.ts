import type { Transaction } from "../../db/database.ts";
import type { Ids } from "../../ids.ts";
import { lockNamelessBikes, nameBikes } from "./queries.ts";

/** Random bytes in a public id: so many that nobody ever meets one twice, and nothing can be read from it. */
const RANDOM_BYTES = 15;

/** A public id for a bike: random alone. Were the time of its making in it, it would tell when the last ride ended. */
function newPublicId(ids: Ids): string {
  return `v_${Buffer.from(ids.randomBytes(RANDOM_BYTES)).toString("base64url")}`;
}

/**
 * Gives a public id to each bike that has none, as imported bikes have before they are first published. Kept in the
 * bike's own row, so that every process publishes the same.
 */
export async function nameNamelessBikes(tx: Transaction, ids: Ids, systemId: string): Promise<void> {
  const nameless = await lockNamelessBikes(tx, systemId);
  if (nameless.length > 0)
    await nameBikes(
      tx,
      systemId,
      nameless,
      nameless.map(() => newPublicId(ids)),
    );
}
