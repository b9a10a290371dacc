import type { BatchItem, BatchResults, operatorContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../../command-context.ts";
import { callerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import { combineRequests, markReplay, repeatableRequest, withIdempotency } from "../../http/idempotency.ts";
import type { Answer, RepeatableAnswer } from "../../http/idempotency/service.ts";
import type { Database } from "../../storage/db/database.ts";
import { endAlerts, upsertAlerts } from "../alerts/service.ts";
import { findPublicBike } from "../bikes/service.ts";
import { resultsOf } from "./batch.ts";
import { reportBikes, upsertBikes } from "./bike-commands.ts";
import { cancelRides, endRides } from "./finish-rides.ts";
import { correctRides, upsertPastRides } from "./past-rides.ts";
import { startRides } from "./start-rides.ts";
import { bringStationsOnline, removeStations, takeStationsOffline, upsertStations } from "./station-commands.ts";

/*
 * The routes with which the operator's backend changes the fleet and alerts. Most take a batch of items. Small batches of
 * several calls may share a transaction (`combined`), which saves commits. A call that repeats its idempotency key gets the
 * first answer again.
 */

/** A command on a batch, such as `upsertBikes`. */
type Verb<Item> = (
  context: CommandContext,
  systemId: string,
  items: readonly BatchItem<Item>[],
) => Promise<BatchResults>;

/** A call of `bikes/find`. */
interface PublicBikeCall {
  readonly request: FastifyRequest;
  readonly query: { readonly public_id: string };
}

/** A call with a batch of items. */
interface BatchCall<Item> {
  readonly request: FastifyRequest;
  readonly reply: { header(name: string, value: string): unknown };
  readonly body: { readonly items: readonly BatchItem<Item>[] };
}

/**
 * Maximum number of items of a call that shares a transaction with other calls. A larger call gets its own transaction,
 * because the other calls would wait for all of its items.
 */
const MAX_COMBINED_ITEMS = 20;

type Routes = RouterImplementation<typeof operatorContract>;

/** Returns the endpoints of the operator's backend. Those with a batch pass it to a command on the fleet or on alerts. */
export function operatorRoutes(
  context: CommandContext & { readonly db: Database },
  alertList: Routes["alerts"]["list"],
): Pick<Routes, "stations" | "bikes" | "rides" | "alerts"> {
  // Runs each call in a transaction of its own.
  const batch =
    <Item>(verb: Verb<Item>) =>
    async ({ request, reply, body }: BatchCall<Item>) => {
      const repeatable = repeatableRequest(request);
      const answer = await withIdempotency(context, repeatable, async (tx) =>
        answerWith(await verb({ ...context, db: tx }, repeatable.systemId, body.items)),
      );
      return reply200(reply, answer);
    };
  // Runs small batches of several calls in one transaction. For verbs whose effects are the same whether items come in one
  // transaction or in several.
  const combined = <Item>(verb: Verb<Item>) => {
    const runWithOthers = combineRequests<readonly BatchItem<Item>[]>(context, {
      together: async (systemId, tx, batches, answered) => {
        // The calls that repeat an answered call: their items are locked, but not decided again.
        const shared = { ...context, db: tx, answered: answered.then((calls) => itemsOf(calls, batches)) };
        const { results } = await verb(shared, systemId, batches.flat());
        return splitResults(results, batches).map((each) => ({ result: answerWith(each) }));
      },
      alone: async (systemId, items, tx) => answerWith(await verb({ ...context, db: tx }, systemId, items)),
    });
    return async (call: BatchCall<Item>) => {
      const { items } = call.body;
      if (items.length > MAX_COMBINED_ITEMS) return batch(verb)(call);
      return reply200(call.reply, await runWithOthers(repeatableRequest(call.request), items, items.length));
    };
  };
  return {
    stations: {
      upsert: batch(upsertStations),
      offline: batch(takeStationsOffline),
      online: batch(bringStationsOnline),
      remove: batch(removeStations),
    },
    bikes: {
      find: publicBike(context),
      upsert: batch(upsertBikes),
      report: combined(reportBikes),
    },
    rides: {
      upsertPast: batch(upsertPastRides),
      start: combined(startRides),
      end: combined(endRides),
      cancel: combined(cancelRides),
      correct: batch(correctRides),
    },
    alerts: { upsert: batch(upsertAlerts), end: batch(endAlerts), list: alertList },
  };
}

/**
 * Returns the handler that finds the bike of a public id for the operator's app. GBFS feeds name bikes by public ids, which
 * change after each ride, and the feeds' rental links pass them to the app.
 */
function publicBike(context: Parameters<typeof findPublicBike>[0]) {
  return async ({ request, query }: PublicBikeCall) => ({
    status: 200 as const,
    body: await findPublicBike(context, callerOf(request).key.system_id, query.public_id),
  });
}

function answerWith(results: BatchResults): Answer {
  return { status: 200, body: JSON.stringify(results) };
}

/** Replies with an answer, and marks it in a header if it repeats that of an earlier call. */
function reply200(reply: BatchCall<unknown>["reply"], answer: RepeatableAnswer) {
  markReplay(reply, answer);
  return { status: 200 as const, body: jsonBody<BatchResults>(answer.body) };
}

/**
 * Returns the indexes that the items of some calls have in the batches of all calls, joined to one.
 * @param calls the indexes of these calls' batches in `batches`
 */
function itemsOf(calls: ReadonlySet<number>, batches: readonly (readonly unknown[])[]): ReadonlySet<number> {
  const indexes = new Set<number>();
  let start = 0;
  for (const [call, { length }] of batches.entries()) {
    const end = start + length;
    if (calls.has(call)) for (let index = start; index < end; index++) indexes.add(index);
    start = end;
  }
  return indexes;
}

/** Returns the results of each of several batches that ran as one. */
function splitResults(all: BatchResults["results"], batches: readonly (readonly unknown[])[]): BatchResults[] {
  let start = 0;
  return batches.map(({ length }) => {
    const end = start + length;
    const results = resultsOf(all.slice(start, end));
    start = end;
    return results;
  });
}
