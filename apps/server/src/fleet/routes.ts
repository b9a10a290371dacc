import type { BatchItem, BatchResults, operatorContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import { jsonBody } from "../http/bind.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../http/idempotency.ts";
import { reportBikes, upsertBikes } from "./bike-commands.ts";
import { correctRides } from "./correct-rides.ts";
import { cancelRides, endRides } from "./finish-rides.ts";
import { upsertPastRides } from "./past-rides.ts";
import { startRides } from "./start-rides.ts";
import { bringStationsOnline, removeStations, takeStationsOffline, upsertStations } from "./station-commands.ts";

type Verb<Item> = (
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
) => Promise<BatchResults>;

interface BatchCall<Item> {
  readonly request: FastifyRequest;
  readonly reply: { header(name: string, value: string): unknown };
  readonly body: { readonly items: readonly BatchItem<Item>[] };
}

/** The endpoints of the operator's own backend: each hands its batch to the verb it is named after. */
export function operatorRoutes(
  context: CommandContext & { readonly db: Database },
): RouterImplementation<typeof operatorContract> {
  const batch =
    <Item>(verb: Verb<Item>) =>
    async ({ request, reply, body }: BatchCall<Item>) => {
      const repeatable = repeatableRequest(request);
      const answer = await withIdempotency(context, repeatable, async (tx) => {
        const results = await verb({ ...context, db: tx }, repeatable.systemId, body.items);
        return { status: 200, body: JSON.stringify(results) };
      });
      markReplay(reply, answer);
      return { status: 200 as const, body: jsonBody<BatchResults>(answer.body) };
    };
  return {
    stations: {
      upsert: batch(upsertStations),
      offline: batch(takeStationsOffline),
      online: batch(bringStationsOnline),
      remove: batch(removeStations),
    },
    bikes: { upsert: batch(upsertBikes), report: batch(reportBikes) },
    rides: {
      upsertPast: batch(upsertPastRides),
      start: batch(startRides),
      end: batch(endRides),
      cancel: batch(cancelRides),
      correct: batch(correctRides),
    },
  };
}
