/** The pages' API client. Its answers are cached by `queries`. */
import { isEmbedded } from "../embedding.ts";
import { type ConsoleClient, createClient } from "./client.ts";
import { createConnection } from "./connection.ts";
import { queries } from "./queries.ts";

export { queries } from "./queries.ts";

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
