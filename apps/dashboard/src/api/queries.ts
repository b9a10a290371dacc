/**
 * The cache of the server's answers: components that read the same data share one request, and first show the cached answer.
 */
import { QueryClient } from "@tanstack/preact-query";
import { isWorthRetrying } from "./errors.ts";

export { keepPreviousData, type QueryKey, useQuery } from "@tanstack/preact-query";

/** Most retries of a failed read that is worth retrying (`isWorthRetrying`). */
const MAX_RETRIES = 2;
/** Answers younger than this are shown without a new request. */
const FRESH_MS = 5_000;

/** The cache of all pages. Changes invalidate the keys of the queries that they affect. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < MAX_RETRIES && isWorthRetrying(error),
      // Requests are sent even if the browser says that it is offline: a server on the same machine can be reached without a
      // network.
      networkMode: "always",
    },
  },
});

/** A query whose result a page shows, as `useQuery` returns it. */
export interface ShownQuery {
  readonly error: unknown;
  readonly refetch: () => Promise<unknown>;
}

/** Repeats those queries of a page that have failed. The others keep their data. */
export function retryFailed(...shown: readonly ShownQuery[]): Promise<unknown> {
  return Promise.all(shown.filter(({ error }) => error !== null).map(({ refetch }) => refetch()));
}
