import {
  dayKinds,
  DEFAULT_HOLD_MINUTES,
  MAX_HOLD_MINUTES,
  MAX_PAGE_SIZE,
  partnerContract,
  station,
} from "@bikeshare/contract";
import type { AppRoute } from "@ts-rest/core";
import { z } from "zod";
import { nearest, searchBox } from "./near.rules.ts";

/*
 * The tools that the service offers to agents by the Model Context Protocol (MCP). `tools/list` describes them
 * (describe-tools.ts), and `tools/call` calls them (call-tool.ts).
 */

/** The maximum and the default number of items of a list. Too high: one answer fills a model's context. */
export const MAX_ITEMS = 50;
export const DEFAULT_ITEMS = 20;

/** A tool of agents: an endpoint of the partners' interface, with a name and a hint for models. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly endpoint: AppRoute;
  /**
   * Tells a model when to choose the tool. What the tool does, its limits and its fields are taken from the contract.
   */
  readonly when: string;
  /** Arguments beyond those of the endpoint, if the tool has any. */
  readonly view?: View;
}

/** Arguments that the endpoint lacks, and how they select a part of its answer. */
interface View {
  readonly arguments: z.AnyZodObject;
  /** Parameters of the endpoint that these arguments replace. */
  readonly hides: readonly string[];
  /** Returns values for the replaced parameters. */
  readonly query: (args: Args) => Readonly<Record<string, string | number>>;
  /** Returns the selected part of the answer, or a text that says why there is none. */
  readonly choose: (answer: Answer, args: Args) => Answer | string;
  /** Fields that are added to each item. */
  readonly added?: Readonly<Record<string, object>>;
}

/** The arguments that a model has sent, by name. */
export type Args = Readonly<Record<string, unknown>>;
/** The JSON object with which an endpoint answers. */
export type Answer = Readonly<Record<string, unknown>>;

const { stations, rides, bikes, reservations, alerts, events, deliveries, vehicleTypes, regions, flows, system, me } =
  partnerContract;

const MAX_RADIUS_METERS = 5_000;
const DEFAULT_RADIUS_METERS = 500;
const DEFAULT_NEAR = 10;

const nearArguments = z
  .object({
    lat: station.shape.lat.describe("Latitude of the place, WGS 84 degrees"),
    lon: station.shape.lon.describe("Longitude of the place, WGS 84 degrees"),
    radius_meters: z
      .number()
      .int()
      .min(1)
      .max(MAX_RADIUS_METERS)
      .default(DEFAULT_RADIUS_METERS)
      .describe("How far away stations may be, in metres as the crow flies"),
    limit: z.number().int().min(1).max(MAX_ITEMS).default(DEFAULT_NEAR).describe("Stations at most, the nearest first"),
  })
  .strict();

/** The stations around a place: a search in the rectangle around it, from which those within the radius are chosen. */
const near: View = {
  arguments: nearArguments,
  hides: ["bbox", "cursor", "limit"],
  query(args) {
    const { lat, lon, radius_meters } = args as z.infer<typeof nearArguments>;
    return { bbox: searchBox({ lat, lon }, radius_meters), limit: SEARCHED };
  },
  choose(answer, args) {
    const { lat, lon, radius_meters, limit } = args as z.infer<typeof nearArguments>;
    if (answer["next_cursor"] !== undefined) {
      return `More than ${SEARCHED} stations are that near. Choose a smaller radius_meters.`;
    }
    const there = (answer["data"] as Located[]).filter(({ status }) => status !== "removed");
    return { data: nearest(there, { lat, lon }, radius_meters).slice(0, limit) };
  },
  added: { distance_meters: { type: "integer", description: "From the place, as the crow flies" } },
};

/** Maximum stations within the search box: one page, so that a call costs one request. */
const SEARCHED = MAX_PAGE_SIZE;

type Located = Readonly<z.infer<typeof station>>;

const hour = z.number().int().min(0).max(24);
const typicalArguments = z
  .object({
    kind: z.enum(dayKinds).optional().describe("Only such days; both kinds, when left out"),
    from_hour: hour.default(0).describe("Only from this hour of the day on, in the system's time zone"),
    to_hour: hour.default(24).describe("Only before this hour of the day"),
  })
  .strict();

/** A station's usual day, limited to some hours. */
const hoursOfDay: View = {
  arguments: typicalArguments,
  hides: [],
  query: () => ({}),
  choose(answer, args) {
    const { kind, from_hour, to_hour } = args as z.infer<typeof typicalArguments>;
    const isAsked = ({ time }: { time: string }) => {
      const at = Number(time.slice(0, 2));
      return at >= from_hour && at < to_hour;
    };
    const days = answer["data"] as { kind: string; quarters: { time: string }[] }[];
    const data = days
      .filter((day) => kind === undefined || day.kind === kind)
      .map((day) => ({ ...day, quarters: day.quarters.filter(isAsked) }));
    return { ...answer, data };
  },
};

/** All tools, in the order in which `tools/list` lists them. */
export const tools: readonly Tool[] = [
  tool("find_stations_near", "Stations near a place", stations.list, {
    when: "Use it to find where to rent or return a bike around coordinates, now or at a past instant. `num_bikes_available` bikes can be rented; `num_docks_available` docks are free, null where that is not published.",
    view: near,
  }),
  tool(
    "list_stations",
    "List stations",
    stations.list,
    "Use it for stations of a region, a rectangle or a state, such as all that are offline. For stations around a point use find_stations_near.",
  ),
  tool(
    "get_station",
    "One station",
    stations.get,
    "Use it when you know the station's id: as it is now, or with `at` as it was.",
  ),
  tool(
    "get_station_forecast",
    "What a station will have",
    stations.forecast,
    "Use it for the chance of a bike or a free dock within the next two hours.",
  ),
  tool("get_station_typical", "A station's usual day", stations.typical, {
    when: "Use it for how a station usually is at a time of day, such as weekdays at 8. For the next two hours use get_station_forecast.",
    view: hoursOfDay,
  }),
  tool(
    "get_station_history",
    "A station over time",
    stations.history,
    "Use it for how a station was over hours or days: how many bikes, and for how long it was empty or full.",
  ),
  tool(
    "list_rides",
    "List rides",
    rides.list,
    "Use it for rides of a bike, a station or a time. Who rode is never shown.",
  ),
  tool("get_ride", "One ride", rides.get, "Use it when you know the ride's id."),
  tool("list_bikes", "List bikes", bikes.list, "Use it for bikes at a station, in a rectangle or in a state."),
  tool("get_bike", "One bike", bikes.get, "Use it when you know the bike's id."),
  tool(
    "list_reservations",
    "List reservations",
    reservations.list,
    "Use it for the reservations of the key's own partner.",
  ),
  tool(
    "get_reservation",
    "One reservation",
    reservations.get,
    "Use it to see whether a reservation is still active and until when.",
  ),
  tool(
    "create_reservation",
    "Reserve a bike",
    reservations.create,
    `Use it only when the user asked for a reservation: it holds a real bike, ${DEFAULT_HOLD_MINUTES} minutes by default and ${MAX_HOLD_MINUTES} at most. Send a random UUID as \`idempotency_key\`, and the same one again only when the answer to this very call was lost.`,
  ),
  tool(
    "extend_reservation",
    "Extend a reservation",
    reservations.extend,
    "Use it only when the user asked to hold the bike for longer.",
  ),
  tool(
    "cancel_reservation",
    "Cancel a reservation",
    reservations.cancel,
    "Use it only when the user asked to give the bike back. It cannot be undone.",
  ),
  tool(
    "list_alerts",
    "List alerts",
    alerts.list,
    "Use it for closures, moves and disturbances that riders should know of.",
  ),
  tool(
    "list_events",
    "List events",
    events.list,
    "Use it for what happened after an event whose id you know, oldest first, such as the last whose webhook delivery arrived. Without `after` it begins with the oldest that is kept.",
  ),
  tool(
    "list_deliveries",
    "List deliveries",
    deliveries.list,
    "Use it for what was sent to the partner's webhooks and which of it fails: status `unsuccessful` gives all that did not arrive. Each has its reason in `explanation`. When `searched_to` is there, older ones were not looked at yet: go on with the cursor.",
  ),
  tool(
    "get_delivery",
    "Why did this delivery fail?",
    deliveries.get,
    "Use it when you know the delivery's id, which the receiver calls `delivery_id`: `explanation` says what its state means, and each attempt in `attempt_log` why it failed, and in `action` what to do at the receiver.",
  ),
  tool(
    "resend_delivery",
    "Send a delivery again",
    deliveries.resend,
    "Use it only when the user asked for it, and after its cause is mended: it POSTs the delivery to the partner's receiver once more, which may handle it twice. Afterwards get_delivery tells what became of it. Send a random UUID as `idempotency_key`, and the same one again only when the answer to this very call was lost.",
  ),
  tool(
    "list_flows",
    "Rides between stations",
    flows.list,
    "Use it for how many rides went from which station to which.",
  ),
  tool(
    "get_system_summary",
    "The system over time",
    system.summary,
    "Use it for rides, bikes and stations of the whole system over time.",
  ),
  tool("list_vehicle_types", "List vehicle types", vehicleTypes.list, "Use it for what a `vehicle_type_id` means."),
  tool("list_regions", "List regions", regions.list, "Use it for what a `region_id` means."),
  tool(
    "get_my_key",
    "Your key",
    me.get,
    "Use it for the scopes of this key, what is left of its rate limit, and how many reservations may be active.",
  ),
];

/** @param more the tool's `when`, or both `when` and `view` */
function tool(name: string, title: string, endpoint: AppRoute, more: string | Pick<Tool, "when" | "view">): Tool {
  return { name, title, endpoint, ...(typeof more === "string" ? { when: more } : more) };
}
