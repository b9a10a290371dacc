import type { DescribedFacts, FactChanges, FactKind, operatorContract } from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../../command-context.ts";
import { callerOf } from "../../http/authenticate.ts";
import {
  type Described,
  describe,
  describedAll,
  describedOne,
  describedTypesEver,
  removeDescription,
} from "./service.ts";

interface Call {
  readonly request: FastifyRequest;
}

interface CallOfOne extends Call {
  readonly params: { readonly id: string };
}

interface Changing<Kind extends FactKind> {
  readonly body: FactChanges<Kind>;
}

type FactRoutes = Omit<
  RouterImplementation<typeof operatorContract>,
  "stations" | "bikes" | "rides" | "alerts" | "dashboardLinks"
>;

/** The endpoints with which the operator's backend sets what GBFS publishes. */
export function factRoutes(context: CommandContext): FactRoutes {
  const { db } = context;
  const systemOf = ({ request }: Call) => callerOf(request).key.system_id;
  const acting = ({ request }: Call) => ({ ...context, actor: `key:${callerOf(request).key.id}` });
  const answer = <Kind extends FactKind>(described: Described<Kind>) => ({
    status: 200 as const,
    body: described as unknown as DescribedFacts<Kind>,
  });
  const read = async <Kind extends FactKind>(kind: Kind, call: Call, id: string) =>
    answer(await describedOne(db, systemOf(call), kind, id));
  const set = async <Kind extends FactKind>(kind: Kind, call: Call & Changing<Kind>, id: string) =>
    answer(await describe(acting(call), systemOf(call), kind, id, call.body));

  const single = <Kind extends FactKind>(kind: Kind) => ({
    get: (call: Call) => read(kind, call, ""),
    set: (call: Call & Changing<Kind>) => set(kind, call, ""),
  });
  const many = <Kind extends FactKind>(kind: Kind) => ({
    get: (call: CallOfOne) => read(kind, call, call.params.id),
    set: (call: CallOfOne & Changing<Kind>) => set(kind, call, call.params.id),
    remove: async (call: CallOfOne) => {
      await removeDescription(acting(call), systemOf(call), kind, call.params.id);
      return { status: 200 as const, body: {} };
    },
  });
  const listed = <Kind extends FactKind>(
    kind: Kind,
    all = (systemId: string): Promise<Described<Kind>[]> => describedAll(db, systemId, kind),
  ) => ({
    list: async (call: Call) => {
      const data = (await all(systemOf(call))) as unknown as DescribedFacts<Kind>[];
      return { status: 200 as const, body: { data } };
    },
    ...many(kind),
  });
  return {
    system: single("system"),
    vehicleTypes: listed("vehicle_type", (systemId) => describedTypesEver(db, systemId)),
    regions: listed("region"),
    pricingPlans: listed("pricing_plan"),
    stationFacts: many("station"),
    bikeFacts: many("bike"),
    geofencingZones: single("geofencing_zones"),
  };
}
