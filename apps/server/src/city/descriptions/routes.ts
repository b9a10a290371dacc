import {
  type DescribedFacts,
  type FactChanges,
  type FactKind,
  factKinds,
  type operatorContract,
  type partnerContract,
} from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import type { CommandContext } from "../../command-context.ts";
import { callerOf, partnerOf } from "../../http/authenticate.ts";
import { jsonBody } from "../../http/bind.ts";
import type { CursorCipher } from "../../http/cursor.ts";
import { markReplay, repeatableRequest, withIdempotency } from "../../http/idempotency.ts";
import { listEndpoint } from "../../http/list-endpoint.ts";
import type { Database, QueryRunner } from "../../storage/db/database.ts";
import { idPosition, type Page } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import {
  describe,
  type Described,
  describedAll,
  describedOne,
  describedTypesEver,
  listRegions,
  listVehicleTypes,
  removeDescription,
} from "./service.ts";

/** A call about the system itself, or about all things of a kind. */
interface Call {
  readonly request: FastifyRequest;
}

/** A call about one thing. */
interface CallOfOne extends Call {
  readonly params: { readonly id: string };
}

/** A call that changes facts. */
interface Changing<Kind extends FactKind> extends Call {
  readonly reply: { header(name: string, value: string): unknown };
  readonly body: FactChanges<Kind>;
}

/** The operator's endpoints without those of the fleet, of alerts and of dashboard links. */
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
    body: resourceOf(kind, await describedOne(db, systemOf(call), kind, id)),
  });
  const set = async <Kind extends FactKind>(kind: Kind, call: Changing<Kind>, id: string) => {
    const answer = await withIdempotency(context, repeatableRequest(call.request), async (tx) => {
      const described = await describe({ ...acting(call), db: tx }, systemOf(call), kind, id, call.body);
      return { status: 200, body: JSON.stringify(resourceOf(kind, described)) };
    });
    markReplay(call.reply, answer);
    return { status: 200 as const, body: jsonBody<DescribedFacts<Kind>>(answer.body) };
  };

  // `once`: a kind that a system has once. `byId`: one thing of a kind by its id. `listed`: also the list of all.
  const once = <Kind extends FactKind>(kind: Kind) => ({
    get: (call: Call) => read(kind, call, ""),
    set: (call: Changing<Kind>) => set(kind, call, ""),
  });
  const byId = <Kind extends FactKind>(kind: Kind) => ({
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
      const data = (await all(systemOf(call))).map((described) => resourceOf(kind, described));
      return { status: 200 as const, body: { data } };
    },
    ...byId(kind),
  });
  return {
    system: once("system"),
    vehicleTypes: listed("vehicle_type", (systemId) => describedTypesEver(db, systemId)),
    regions: listed("region"),
    pricingPlans: listed("pricing_plan"),
    stationFacts: byId("station"),
    bikeFacts: byId("bike"),
    geofencingZones: once("geofencing_zones"),
  };
}

/**
 * Returns a thing as the interface shows it: the fields that the contract lists. A source may also give GBFS fields that
 * the operator cannot set.
 */
function resourceOf<Kind extends FactKind>(
  kind: Kind,
  { id, published, own, from }: Described<Kind>,
): DescribedFacts<Kind> {
  const known = <Values extends object>(values: Values) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(factKinds[kind], name))) as Values;
  return { id, published: known(published), own, from: known(from) };
}

/** Returns a page of a list, such as `listRegions`. */
type ListOfSystem = (db: QueryRunner, systemId: string, page: PageRequest<string>) => Promise<Page<string>>;

/**
 * Routes of regions and vehicle types. Each request assembles its whole list, so it waits for its turn among the few
 * long reads that run at a time (`filtered`).
 */
export function systemRoutes(
  { filtered }: ReadContext,
  cursors: CursorCipher,
): RouterImplementation<Pick<typeof partnerContract, "regions" | "vehicleTypes">> {
  const listOf = (name: "regions" | "vehicle_types", list: ListOfSystem) =>
    listEndpoint(cursors, {
      name,
      position: idPosition,
      read: (request, _filters: object, page) => {
        const partner = partnerOf(request);
        return filtered.read(partner, (db) => list(db, partner.systemId, page));
      },
    });
  return {
    regions: { list: listOf("regions", listRegions) },
    vehicleTypes: { list: listOf("vehicle_types", listVehicleTypes) },
  };
}
