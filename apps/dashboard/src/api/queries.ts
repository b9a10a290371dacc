/** The cache of the server's answers: components that ask for the same share one request, and see the last answer at once. */
import { QueryClient } from "@tanstack/preact-query";
import { isWorthRetrying } from "./errors.ts";

export { keepPreviousData, type QueryKey, useQuery } from "@tanstack/preact-query";

/** Most attempts of a read that fails for a reason that may pass. */
const MAX_RETRIES = 2;
/** Answers younger than this are shown without a new request. */
const FRESH_MS = 5_000;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < MAX_RETRIES && isWorthRetrying(error),
      // The browser's online state means nothing for a server on the same machine or behind a proxy.
      networkMode: "always",
    },
  },
});
