import type { FeedReport } from "@bikeshare/contract/console";
import { descriptionsState } from "../city/descriptions/service.ts";
import { commandError } from "../command-errors.ts";
import { checkFeedApart } from "../feeds/gbfs-check/check-apart.ts";
import { KeptChecks } from "../feeds/gbfs-check/kept-checks.ts";
import { readOwnFeed } from "../feeds/gbfs-check/own-feed.ts";
import { readAddress } from "../feeds/gbfs-check/read-address.ts";
import { sourceStates } from "../feeds/gbfs/source-state.ts";
import { isAddress, PublicHosts } from "../feeds/outgoing.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

/** Routes with which the operator sees what planners make of the system's feeds, and of those that it follows. */
export function feedQualityRoutes(context: ConsoleContext): ConsoleRoutes["feedQuality"] {
  const { db, clock } = context;
  const checks = new KeptChecks(clock);
  const publicHosts = new PublicHosts();
  const checkOwn = async (systemId: string): Promise<FeedReport> =>
    checkFeedApart(await readOwnFeed(context, systemId), { now: clock() });
  const checkAddress = async (address: string): Promise<FeedReport> =>
    checkFeedApart(await readAddress(new URL(address), { monotonic: () => performance.now(), publicHosts }), {
      now: clock(),
    });
  return {
    check: async ({ query: { source }, request }) => {
      const { systemId } = consoleCaller(request);
      const followed = (await sourceStates(db, systemId)).flatMap(({ source: name, location }) =>
        location !== null && isAddress(location) ? [{ name, location }] : [],
      );
      const asked = followed.find(({ name }) => name === source);
      if (source !== undefined && asked === undefined) throw commandError("not_found", "feedSource", { id: source });
      const outcome =
        asked === undefined
          ? await checks.get(systemId, "", await descriptionsState(db, systemId), () => checkOwn(systemId))
          : await checks.get(systemId, asked.name, asked.location, () => checkAddress(asked.location));
      return { status: 200, body: { sources: followed.map(({ name }) => name), ...outcome } };
    },
  };
}
