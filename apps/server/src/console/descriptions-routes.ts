import type { SystemFacts } from "@bikeshare/contract/console";
import { factNames, factRules } from "../city/systems/facts.rules.ts";
import { describedRegions, nameRegion, removeRegion } from "../city/systems/regions.ts";
import { describeSystem, originsOf, systemsOf } from "../city/systems/service.ts";
import { describedVehicleTypes, describeVehicleType, removeVehicleType } from "../city/systems/vehicle-types.ts";
import { commandError } from "../command-errors.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller, type ConsoleRequest } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";

type Routes = ConsoleRoutes["descriptions"];

/** Routes with which the operator describes a system, its vehicle types and its regions. */
export function descriptionRoutes(context: ConsoleContext): Routes {
  const { db } = context;
  const acting = (request: ConsoleRequest) => ({ ...context, actor: consoleCaller(request).actor });
  const systemOf = (request: ConsoleRequest) => consoleCaller(request).systemId;
  return {
    facts: async ({ request }) => ({ status: 200, body: await readFacts(context, systemOf(request)) }),
    setFacts: async ({ body, request }) => {
      await describeSystem(acting(request), systemOf(request), body);
      return { status: 200, body: await readFacts(context, systemOf(request)) };
    },
    vehicleTypes: async ({ request }) => ({
      status: 200,
      body: { data: await describedVehicleTypes(db, systemOf(request)) },
    }),
    setVehicleType: async ({ params: { id }, body, request }) => ({
      status: 200,
      body: await describeVehicleType(acting(request), systemOf(request), id, body),
    }),
    removeVehicleType: async ({ params: { id }, request }) => {
      await removeVehicleType(acting(request), systemOf(request), id);
      return { status: 200, body: {} };
    },
    regions: async ({ request }) => {
      const described = await describedRegions(db, systemOf(request));
      return { status: 200, body: { data: described.map(({ region, ownName }) => ({ region, own_name: ownName })) } };
    },
    setRegion: async ({ params: { id }, body: { name }, request }) => {
      await nameRegion(acting(request), systemOf(request), { id, name });
      return { status: 200, body: { id, name } };
    },
    removeRegion: async ({ params: { id }, request }) => {
      await removeRegion(acting(request), systemOf(request), id);
      return { status: 200, body: {} };
    },
  };
}

/** GBFS's versions that are published. */
const VERSIONS = ["2.3", "3.0"] as const;

async function readFacts({ db, baseUrl }: ConsoleContext, systemId: string): Promise<SystemFacts> {
  const origins = await originsOf(db, systemId);
  if (origins === undefined) throw commandError("not_found", "system", { id: systemId });
  const [first] = await systemsOf(db);
  const path = first?.system_id === systemId ? "gbfs" : `gbfs/${encodeURIComponent(systemId)}`;
  return {
    id: systemId,
    facts: factNames.map((name) => ({ name, ...origins[name], expected: factRules[name].expected })),
    feeds: VERSIONS.map((version) => ({ version, url: `${baseUrl()}/${path}/${version}/gbfs.json` })),
  };
}
