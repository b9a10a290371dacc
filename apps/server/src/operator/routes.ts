import type { BatchItem, BatchResults, operatorContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";

import { reportBikes, upsertBikes } from "../bikes/commands.ts";
import { wireBody } from "../http/bind.ts";
import { callerOf } from "../http/caller.ts";
import { type Idempotent, replayHeader } from "../http/idempotency.ts";
import type { LiveContext } from "../live-context.ts";
import { cancelRides, endRides } from "../rides/finish.ts";
import { upsertPastRides } from "../rides/past.ts";
import { startRides } from "../rides/start.ts";
import { bringStationsOnline, removeStations, takeStationsOffline, upsertStations } from "../stations/commands.ts";

/** The endpoints of the operator's own backend: each hands a batch to the verb it is named after. */
export function operatorRoutes(
  context: Omit<LiveContext, "db">,
  idempotent: Idempotent,
): RouterImplementation<typeof operatorContract> {
  const batch = <Item>(verb: (context: LiveContext, systemId: string, items: readonly BatchItem<Item>[]) => Promise<BatchResults>) =>
    async (call: BatchCall<Item>) => {
      const systemId = callerOf(call.request).key.system_id;
      const answer = await idempotent(
        { systemId, caller: "operator", path: call.request.routeOptions.url ?? "", key: call.headers["idempotency-key"], body: call.request.body },
        async (tx) => {
          const results = await verb({ ...context, db: tx }, systemId, call.body.items);
          return { status: 200, body: JSON.stringify(results) };
        },
      );
      replayHeader(call.reply, answer);
      return { status: 200 as const, body: wireBody<BatchResults>(answer.body) };
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
    },
  };
}

interface BatchCall<Item> {
  readonly request: FastifyRequest;
  readonly reply: { header(name: string, value: string): unknown };
  readonly headers: { readonly "idempotency-key"?: string | undefined };
  readonly body: { readonly items: readonly BatchItem<Item>[] };
}
