import type { Transaction } from "../../db/database.ts";
import { newPublicId } from "../../fleet/public-id.ts";
import type { Ids } from "../../ids.ts";
import { lockNamelessBikes, nameBikes } from "./queries.ts";

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
