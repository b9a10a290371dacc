/** The pages' API client, and the cache of its answers. */
import { QueryClient } from "@tanstack/preact-query";
import { isEmbedded } from "../embedding.ts";
import { type ConsoleClient, createClient } from "./client.ts";
import { createConnection } from "./connection.ts";
import { isWorthRetrying } from "./errors.ts";

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
    mutations: { networkMode: "always" },
  },
});

export const connection = createConnection(() => void queries.invalidateQueries());

let csrfToken: string | undefined;

/** Keeps the token that comes with the session, for requests that change something. */
export function keepCsrfToken(token: string | undefined): void {
  csrfToken = token;
}

/** The key under which the session is cached. */
export const SESSION_KEY = ["session"] as const;

export const api: ConsoleClient = createClient({
  csrfToken: () => csrfToken,
  // The layout sees that there is no session, and leads to the sign-in page.
  onSignedOut: () => queries.setQueryData(SESSION_KEY, null),
  isEmbedded,
  onReached: (isReached) => connection.report(isReached),
});
