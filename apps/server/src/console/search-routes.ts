import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import type { LongReads, LongRequest } from "./long-reads.ts";
import { search } from "./search/service.ts";

type Routes = ConsoleRoutes;

/** What a partner finds by an id or a name. */
export function partnerSearchRoutes(long: LongReads): Routes["partnerSearch"] {
  return { search: searchRoute(long) };
}

/** The same for the operator. */
export function systemSearchRoutes(long: LongReads): Routes["systemSearch"] {
  return { search: searchRoute(long) };
}

function searchRoute(long: LongReads) {
  return async ({ query, request }: { readonly query: { readonly q: string }; readonly request: LongRequest }) => {
    const data = await search(long.databaseFor(request), consoleCaller(request), query.q);
    return { status: 200 as const, body: { data } };
  };
}
