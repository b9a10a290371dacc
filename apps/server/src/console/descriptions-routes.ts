import { type FactChanges, type FactKind, publishedGbfsVersions } from "@bikeshare/contract";
import {
  type Described,
  describe,
  describedAll,
  describedOne,
  describedTypesEver,
  requireRemoval,
  versionOf,
} from "../city/descriptions/service.ts";
import { systemsOf } from "../city/systems/service.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

/** Stands in a path for the empty id of the system and of its zones. */
const NO_ID = "-";

/** Routes with which the operator's people set what GBFS publishes. */
export function descriptionRoutes(context: ConsoleContext): ConsoleRoutes["descriptions"] {
  const { db } = context;
  const acting = (request: ConsoleRequest) => ({ ...context, actor: consoleCaller(request).actor });
  const systemOf = (request: ConsoleRequest) => consoleCaller(request).systemId;
  const answer = (described: Described) => ({
    status: 200 as const,
    body: { ...described, from: { ...described.from }, version: versionOf(described) },
  });
  const idOf = (id: string) => (id === NO_ID ? "" : id);
  return {
    feeds: async ({ request }) => ({ status: 200, body: { data: await feedsOf(context, systemOf(request)) } }),
    list: async ({ params: { kind }, request }) => {
      const systemId = systemOf(request);
      const all: readonly Described[] =
        kind === "vehicle_type"
          ? await describedTypesEver(db, systemId)
          : await describedAll<FactKind>(db, systemId, kind);
      return { status: 200, body: { data: all.map((each) => answer(each).body) } };
    },
    get: async ({ params: { kind, id }, request }) =>
      answer(await describedOne<FactKind>(db, systemOf(request), kind, idOf(id))),
    set: async ({ params: { kind, id }, query: { seen }, body, request }) => {
      // The verb reads them strictly.
      const changes = body as FactChanges<FactKind>;
      return answer(await describe<FactKind>(acting(request), systemOf(request), kind, idOf(id), changes, seen));
    },
    remove: async ({ params: { kind, id }, query: { seen }, request }) => {
      await requireRemoval(acting(request), systemOf(request), kind, idOf(id), seen);
      return { status: 200, body: {} };
    },
  };
}

async function feedsOf({ db, baseUrl }: ConsoleContext, systemId: string) {
  const [first] = await systemsOf(db);
  const path = first?.system_id === systemId ? "gbfs" : `gbfs/${encodeURIComponent(systemId)}`;
  return publishedGbfsVersions.map((version) => ({ version, url: `${baseUrl()}/${path}/${version}/gbfs.json` }));
}
