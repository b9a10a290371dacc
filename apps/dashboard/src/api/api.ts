/** The pages' API client. Its answers are cached by `queries`. */
import { isEmbedded } from "../embedding.ts";
import { type ConsoleClient, createClient } from "./client.ts";
import { createConnection } from "./connection.ts";
import { queries } from "./queries.ts";
import { endSession } from "./session-end.ts";

export { queries } from "./queries.ts";
export { SESSION_KEY } from "./session-end.ts";

/** Whether the server can be reached. All shown data are loaded again when it can be reached again. */
export const connection = createConnection(() => void queries.invalidateQueries());

let csrfToken: string | undefined;

/** Keeps the token that comes with the session, for requests that change something. */
export function keepCsrfToken(token: string | undefined): void {
  csrfToken = token;
}

/** The calls of the service, by noun and verb. Pages read through `useQuery`, so that the cache keeps the answers. */
export const api: ConsoleClient = createClient({
  csrfToken: () => csrfToken,
  onSignedOut: endSession,
  isEmbedded,
  onReached: (isReached) => connection.report(isReached),
  onUnavailable: () => connection.check(),
});
