import type { BikeShare } from "../client.ts";
import type { ApiPromise } from "../core/api-promise.ts";
import type { List } from "../core/list.ts";
import { UsageError } from "../errors/errors.ts";
import type { RequestOptions } from "../options.ts";
import type { Bike, EventRecord, Region, Reservation, Ride, Station, VehicleType } from "../wire.generated.ts";
import { type Command, type CommandContext, type Flag, type Given, textOf } from "./command.ts";
import { endpoints } from "./endpoints.generated.ts";
import { listFlags, printList } from "./list-output.ts";
import { card } from "./table.ts";

type Name = keyof typeof endpoints;

/** What the contract says of a parameter. */
interface Parameter {
  readonly says: string;
  readonly values?: readonly string[];
  readonly isNumber?: boolean;
}

/** Parameters as they were typed. The service checks them, and names what is wrong: `never` fits every parameter. */
type Typed = Readonly<Record<string, never>>;

/** What is done: the one thing that the contract cannot say. */
const calls: Readonly<Record<Name, (client: BikeShare, id: string, typed: Typed, options: RequestOptions) => unknown>> =
  {
    "stations list": ({ stations }, _, query, options) => stations.list(query, options),
    "stations get": ({ stations }, id, _, options) => stations.get(id, options),
    "vehicleTypes list": ({ vehicleTypes }, _, query, options) => vehicleTypes.list(query, options),
    "regions list": ({ regions }, _, query, options) => regions.list(query, options),
    "rides list": ({ rides }, _, query, options) => rides.list(query, options),
    "rides get": ({ rides }, id, _, options) => rides.get(id, options),
    "bikes list": ({ bikes }, _, query, options) => bikes.list(query, options),
    "bikes get": ({ bikes }, id, _, options) => bikes.get(id, options),
    "reservations list": ({ reservations }, _, query, options) => reservations.list(query, options),
    "reservations get": ({ reservations }, id, _, options) => reservations.get(id, options),
    "reservations create": ({ reservations }, _, request, options) => reservations.create(request, options),
    "reservations extend": ({ reservations }, id, request, options) =>
      reservations.extend(id, request as never, options),
    "reservations cancel": ({ reservations }, id, _, options) => reservations.cancel(id, options),
    "events list": ({ events }, _, query, options) => events.list(query, options),
    "events get": ({ events }, id, _, options) => events.get(id, options),
    "me get": ({ me }, _, __, options) => me.get(options),
  };

/** The columns of a list; all fields are in `--json`. */
const columns: Readonly<Record<string, readonly string[]>> = {
  "stations list": ["id", "name", "status", "num_bikes_available", "num_docks_available"] satisfies (keyof Station)[],
  "vehicleTypes list": [
    "id",
    "name",
    "form_factor",
    "propulsion_type",
    "max_range_meters",
  ] satisfies (keyof VehicleType)[],
  "regions list": ["id", "name"] satisfies (keyof Region)[],
  "rides list": [
    "id",
    "status",
    "bike_id",
    "start_station_id",
    "end_station_id",
    "started_at",
    "duration_seconds",
  ] satisfies (keyof Ride)[],
  "bikes list": ["id", "vehicle_state", "station_id", "vehicle_type_id"] satisfies (keyof Bike)[],
  "reservations list": [
    "id",
    "status",
    "station_id",
    "bike_id",
    "expires_at",
    "rider_ref",
  ] satisfies (keyof Reservation)[],
  "events list": ["id", "event", "occurred_at", "data.id"] satisfies (keyof EventRecord | "data.id")[],
};

/** A command for each endpoint of the contract that needs a key. */
export function endpointCommands(): Command[] {
  return (Object.keys(endpoints) as Name[]).map((name) => {
    const { summary, takesId } = endpoints[name];
    const fields = columns[name];
    return {
      // There is but one thing that is ever asked of one's own key.
      name: name === "me get" ? "me" : wordsOf(name),
      summary,
      takesId,
      flags: { ...parameterFlags(name), ...(fields && listFlags) },
      run: (context) => run(name, fields, context),
    };
  });
}

async function run(name: Name, fields: readonly string[] | undefined, context: CommandContext): Promise<void> {
  const { client, id, given, output, host } = context;
  const options = { signal: host.stopped };
  const typed = { ...readParameters(name, given) } as Typed;
  if (fields !== undefined) {
    const list = (limit: number) => calls[name](client, id, { ...typed, limit: limit as never }, options);
    await printList((limit) => list(limit) as List<{ readonly id: string }>, fields, context); // lists have columns
    return;
  }
  const object = await (calls[name](client, id, typed, options) as ApiPromise<object>); // all others answer with one object
  output.result(object, card(object));
}

/** `vehicle-types list` for `vehicleTypes list`: words of a command line are in lower case. */
function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `--station` for `station_id`: an option names the thing. */
function flagOf(parameter: string): string {
  return parameter.replace(/_id$/, "").replaceAll("_", "-");
}

function parametersOf(name: Name): [string, Parameter][] {
  return Object.entries<Parameter>(endpoints[name].parameters);
}

function parameterFlags(name: Name): Record<string, Flag> {
  const flags = parametersOf(name).map(([parameter, { says, values, isNumber }]): [string, Flag] => {
    const value = `<${parameter.endsWith("_id") ? "id" : parameter.replaceAll("_", " ")}>`;
    const choice = values === undefined ? "" : `: ${values.join(", ")}`;
    return [flagOf(parameter), { value: isNumber ? "<n>" : value, says: `${says}${choice}` }];
  });
  return Object.fromEntries(flags);
}

function readParameters(name: Name, given: Given): Record<string, string | number> {
  const read = parametersOf(name).flatMap(([parameter, { isNumber }]): [string, string | number][] => {
    const flag = flagOf(parameter);
    const text = textOf(given, flag);
    if (text === undefined) return [];
    if (isNumber && !/^\d+$/.test(text)) throw new UsageError(`--${flag} must be a whole number`);
    return [[parameter, isNumber ? Number(text) : text]];
  });
  return Object.fromEntries(read);
}
