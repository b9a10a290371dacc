import {
  type DescribedFacts,
  type FactChanges,
  type FactKind,
  factKinds,
  type operatorContract,
} from "@bikeshare/contract";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../../command-context.ts";
import { callerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../../http/idempotency.ts";
import type { Database } from "../../storage/db/database.ts";
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

interface Changing<Kind extends FactKind> extends Call {
  readonly reply: { header(name: string, value: string): unknown };
  readonly body: FactChanges<Kind>;
}

type FactRoutes = Omit<
  RouterImplementation<typeof operatorContract>,
  "stations" | "bikes" | "rides" | "alerts" | "dashboardLinks"
>;

/** Routes with which the operator's backend sets what GBFS publishes. */
export function factRoutes(context: CommandContext & { readonly db: Database }): FactRoutes {
  const { db } = context;
  const systemOf = ({ request }: Call) => callerOf(request).key.system_id;
  const acting = ({ request }: Call) => ({ ...context, actor: `key:${callerOf(request).key.id}` });
  const read = async <Kind extends FactKind>(kind: Kind, call: Call, id: string) => ({
    status: 200 as const,
    body: wireOf(kind, await describedOne(db, systemOf(call), kind, id)),
  });
  const set = async <Kind extends FactKind>(kind: Kind, call: Changing<Kind>, id: string) => {
    const answer = await withIdempotency(context, repeatableRequest(call.request), async (tx) => {
      const described = await describe({ ...acting(call), db: tx }, systemOf(call), kind, id, call.body);
      return { status: 200, body: JSON.stringify(wireOf(kind, described)) };
    });
    markReplay(call.reply, answer);
    return { status: 200 as const, body: jsonBody<DescribedFacts<Kind>>(answer.body) };
  };

  const single = <Kind extends FactKind>(kind: Kind) => ({
    get: (call: Call) => read(kind, call, ""),
    set: (call: Changing<Kind>) => set(kind, call, ""),
  });
  const many = <Kind extends FactKind>(kind: Kind) => ({
    get: (call: CallOfOne) => read(kind, call, call.params.id),
    set: (call: CallOfOne & Changing<Kind>) => set(kind, call, call.params.id),
    remove: async (call: CallOfOne) => {
      const { id } = call.params;
      await removeDescription(acting(call), systemOf(call), kind, id);
      return { status: 200 as const, body: { id } };
    },
  });
  const listed = <Kind extends FactKind>(
    kind: Kind,
    all = (systemId: string): Promise<Described<Kind>[]> => describedAll(db, systemId, kind),
  ) => ({
    list: async (call: Call) => {
      const data = (await all(systemOf(call))).map((described) => wireOf(kind, described));
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

/** Returns the fields that the contract lists. A source may also give GBFS fields that the operator cannot set. */
function wireOf<Kind extends FactKind>(
  kind: Kind,
  { id, published, own, from }: Described<Kind>,
): DescribedFacts<Kind> {
  const known = <Values extends object>(values: Values) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(factKinds[kind], name))) as Values;
  return { id, published: known(published), own, from: known(from) };
}
