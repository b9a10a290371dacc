import type { FeedConsumer } from "@bikeshare/contract/console";

// How journey planners read a feed, written after their code: each function returns the stations and vehicles that riders
// see. The file shares no code with the checker's rules, which compute what is lost, so that tests can compare both.

type Item = Readonly<Record<string, unknown>>;
/** The `data` of each document, by the document's name in its GBFS version. */
export type PublishedData = ReadonlyMap<string, Item>;

/** The ids of the stations and vehicles that riders see. */
export interface Shown {
  readonly stations: readonly string[];
  readonly vehicles: readonly string[];
}

const NOTHING: Shown = { stations: [], vehicles: [] };

const listOf = (data: Item | undefined, ...names: readonly string[]): readonly Item[] =>
  (names.map((name) => data?.[name]).find((list) => Array.isArray(list)) ?? []) as readonly Item[];
const byId = (items: readonly Item[], name: string) => new Map(items.map((item) => [item[name], item]));
const idsOf = (items: readonly Item[], ...names: readonly string[]) =>
  items.map((item) => names.map((name) => item[name]).find((id) => typeof id === "string") ?? "");

const informationOf = (feeds: PublishedData) => listOf(feeds.get("station_information"), "stations");
const statusOf = (feeds: PublishedData) => listOf(feeds.get("station_status"), "stations");
const vehiclesOf = (feeds: PublishedData) =>
  listOf(feeds.get("vehicle_status") ?? feeds.get("free_bike_status"), "vehicles", "bikes");
const typesOf = (feeds: PublishedData) => byId(listOf(feeds.get("vehicle_types"), "vehicle_types"), "vehicle_type_id");
const vehicleIds = (vehicles: readonly Item[]) => idsOf(vehicles, "vehicle_id", "bike_id");

/** lamassu: `EntityCachesUpdater`, `StationsUpdater`, `VehicleFilter`. Vehicles at docks are part of their station. */
function lamassu(feeds: PublishedData): Shown {
  if (!["system_information", "vehicle_types", "system_pricing_plans"].every((name) => feeds.has(name))) return NOTHING;
  const information = byId(informationOf(feeds), "station_id");
  const stations = statusOf(feeds).filter((station) => information.has(station["station_id"]));
  const types = typesOf(feeds);
  const plans = byId(listOf(feeds.get("system_pricing_plans"), "plans"), "plan_id");
  const isKept = (vehicle: Item) => {
    const station = information.get(vehicle["station_id"]);
    if (station !== undefined && station["is_virtual_station"] !== true) return true;
    const plan = vehicle["pricing_plan_id"];
    if (plan !== undefined && !plans.has(plan)) return false;
    const type = types.get(vehicle["vehicle_type_id"]);
    return type !== undefined && (plan !== undefined || type["default_pricing_plan_id"] !== undefined);
  };
  return { stations: idsOf(stations, "station_id"), vehicles: vehicleIds(vehiclesOf(feeds).filter(isKept)) };
}

/** OpenTripPlanner: `GbfsFeedMapper`, `GbfsStationInformationMapper` and `GbfsFreeVehicleStatusMapper` of both versions. */
function otp(feeds: PublishedData): Shown {
  const isText = (text: unknown) =>
    typeof text === "string" ? text.trim() !== "" : Array.isArray(text) && text.length > 0;
  const isPlaced = ({ lat, lon }: Item) => typeof lat === "number" && typeof lon === "number";
  const mapStation = (station: Item) => isText(station["station_id"]) && isText(station["name"]) && isPlaced(station);
  const types = typesOf(feeds);
  const mapVehicle = (vehicle: Item) => {
    if (isText(vehicle["station_id"])) return true;
    const type = types.get(vehicle["vehicle_type_id"]);
    const hasEngine = type !== undefined && type["propulsion_type"] !== "human";
    const range = vehicle["current_range_meters"];
    return isPlaced(vehicle) && !(hasEngine && !(typeof range === "number" && range >= 0));
  };
  const stations = feeds.has("station_status") ? informationOf(feeds).filter(mapStation) : [];
  return { stations: idsOf(stations, "station_id"), vehicles: vehicleIds(vehiclesOf(feeds).filter(mapVehicle)) };
}

/** MOTIS: `load_station_information` and `load_vehicle_status` of `gbfs/parser.cc`. */
function motis(feeds: PublishedData): Shown {
  const stations = informationOf(feeds).filter(({ lat, lon }) => lat !== undefined && lon !== undefined);
  const known = byId(stations, "station_id");
  const types = typesOf(feeds);
  const isRentable = (vehicle: Item) => {
    const hasPlace = vehicle["lat"] !== undefined && vehicle["lon"] !== undefined;
    const type = vehicle["vehicle_type_id"];
    return (hasPlace || known.has(vehicle["station_id"])) && (type === undefined || types.has(type));
  };
  return { stations: idsOf(stations, "station_id"), vehicles: vehicleIds(vehiclesOf(feeds).filter(isRentable)) };
}

/** Google Maps: its definitions of GBFS require a described app, and links into it for stations and free vehicles. */
function google(feeds: PublishedData): Shown {
  const apps = (feeds.get("system_information")?.["rental_apps"] ?? {}) as Readonly<Record<string, Item>>;
  const platforms = Object.keys(apps).filter((name) => apps[name]?.["store_uri"] && apps[name]["discovery_uri"]);
  const opensApp = (item: Item) =>
    platforms.some((platform) => Boolean((item["rental_uris"] as Item | undefined)?.[platform]));
  const stations = informationOf(feeds).filter(opensApp);
  const shown = byId(stations, "station_id");
  const vehicles = vehiclesOf(feeds).filter((vehicle) =>
    vehicle["station_id"] === undefined ? opensApp(vehicle) : shown.has(vehicle["station_id"]),
  );
  return { stations: idsOf(stations, "station_id"), vehicles: vehicleIds(vehicles) };
}

/** For each planner, the function that returns what riders see of a feed. */
export const planners: { readonly [Id in FeedConsumer]: (feeds: PublishedData) => Shown } = {
  lamassu,
  otp,
  motis,
  google,
};
