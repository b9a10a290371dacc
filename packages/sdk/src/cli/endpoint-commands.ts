import type { BikeShare } from "../client.ts";
import type { ApiPromise } from "../core/api-promise.ts";
import type { List } from "../core/list.ts";
import { UsageError } from "../errors/errors.ts";
import type {
  Alert,
  Bike,
  EventRecord,
  Export,
  Region,
  Reservation,
  Ride,
  Station,
  VehicleType,
} from "../json-types.generated.ts";
import type { RequestOptions } from "../options.ts";
import { MAX_PAGE_SIZE } from "../routes.generated.ts";
import { type ServiceCommand, type CommandContext, type Option, type OptionValues, textOf } from "./command.ts";
import { endpoints } from "./endpoints.generated.ts";
import { formatObject, formatTable } from "./output.ts";

/*
 * The commands that call one endpoint each, such as `rides list`. Their names, options and help are generated from the
 * contract; the client's method of each, and the columns and further options of lists, are in this file.
 */

type Name = keyof typeof endpoints;

/** A parameter as the contract describes it. */
interface Parameter {
  readonly description: string;
  readonly values?: readonly string[];
  readonly isNumber?: boolean;
}

/** Parameters as they were typed. The service validates them. The type `never` can be passed to every method. */
type Parameters = Readonly<Record<string, never>>;

/**
 * Calls the client.
 * @param id empty if the endpoint takes none
 * @returns a `List` if the endpoint has columns below, otherwise an `ApiPromise`
 */
type Call = (client: BikeShare, id: string, parameters: Parameters, options: RequestOptions) => unknown;

/** The client's method for each endpoint. It is listed here because the contract does not know the client. */
const calls: Readonly<Record<Name, Call>> = {
  "stations list": ({ stations }, _, query, options) => stations.list(query, options),
  "stations typical": ({ stations }, id, _, options) => stations.typical(id, options),
  "stations forecast": ({ stations }, id, query, options) => stations.forecast(id, query, options),
  "stations get": ({ stations }, id, { at }, options) =>
    at === undefined ? stations.get(id, options) : stations.getAt(id, at, options),
  "stations history": ({ stations }, id, query, options) => stations.history(id, query, options),
  "vehicleTypes list": ({ vehicleTypes }, _, query, options) => vehicleTypes.list(query, options),
  "regions list": ({ regions }, _, query, options) => regions.list(query, options),
  "alerts list": ({ alerts }, _, query, options) => alerts.list(query, options),
  "alerts get": ({ alerts }, id, _, options) => alerts.get(id, options),
  "rides list": ({ rides }, _, query, options) => rides.list(query, options),
  "rides get": ({ rides }, id, _, options) => rides.get(id, options),
  "bikes list": ({ bikes }, _, query, options) => bikes.list(query, options),
  "bikes get": ({ bikes }, id, _, options) => bikes.get(id, options),
  "reservations list": ({ reservations }, _, query, options) => reservations.list(query, options),
  "reservations get": ({ reservations }, id, _, options) => reservations.get(id, options),
  "reservations create": ({ reservations }, _, request, options) => reservations.create(request, options),
  "reservations extend": ({ reservations }, id, request, options) => reservations.extend(id, request as never, options),
  "reservations cancel": ({ reservations }, id, _, options) => reservations.cancel(id, options),
  "events list": ({ events }, _, query, options) => events.list(query, options),
  "events get": ({ events }, id, _, options) => events.get(id, options),
  "deliveries list": ({ deliveries }, _, query, options) => deliveries.list(query, options),
  "deliveries get": ({ deliveries }, id, _, options) => deliveries.get(id, options),
  "deliveries resend": ({ deliveries }, id, _, options) => deliveries.resend(id, options),
  "flows list": ({ flows }, _, query, options) => flows.list(query, options),
  "system summary": ({ system }, _, query, options) => system.summary(query, options),
  "exports list": ({ exports }, _, query, options) => exports.list(query, options),
  "exports get": ({ exports }, id, _, options) => exports.get(id, options),
  "me get": ({ me }, _, __, options) => me.get(options),
};

/** The columns of the table that a list prints. With `--json` it prints all fields. */
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
  "alerts list": ["id", "type", "summary", "station_ids", "opened_at"] satisfies (keyof Alert)[],
  "exports list": ["id", "kind", "month", "format", "privacy", "rows", "bytes", "as_of"] satisfies (keyof Export)[],
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

/** Maximum items that a list prints by default: as many as fit on a terminal. */
const DEFAULT_LIMIT = 50;
/** Items between two progress messages. */
const PROGRESS_INTERVAL_ITEMS = MAX_PAGE_SIZE;

/** Options of every command that prints a list. */
const listOptions: Readonly<Record<string, Option>> = {
  limit: { value: "<n>", description: `the most items; default: ${DEFAULT_LIMIT}` },
  all: { description: "all items" },
  from: { value: "<checkpoint>", description: "resume an earlier call from its `checkpoint`" },
};

/** Returns a command for each endpoint of the partners' contract that needs a key. */
export function endpointCommands(): ServiceCommand[] {
  return (Object.keys(endpoints) as Name[]).map((name) => {
    const { summary, takesId } = endpoints[name];
    const fields = columns[name];
    return {
      // There is only one endpoint about the key itself, so its command needs no verb.
      name: name === "me get" ? "me" : toKebabCase(name),
      summary,
      takesId,
      options: { ...parameterOptions(name), ...(fields && listOptions) },
      run: (context) => (fields ? runList(name, fields, context) : runCall(name, context)),
    };
  });
}

async function runCall(name: Name, { client, id, values, output, environment }: CommandContext): Promise<void> {
  const options = { signal: environment.stopped };
  // An endpoint without columns returns one object; `deliveries list` and `flows list` one page.
  const object = await (calls[name](client, id, readParameters(name, values), options) as ApiPromise<object>);
  output.result(object, formatObject(object));
}

/**
 * Prints a list as a table or as `{ data, checkpoint }`. It has a checkpoint, from which `--from` continues, if there
 * may be more items.
 */
async function runList(name: Name, fields: readonly string[], context: CommandContext): Promise<void> {
  const { client, id, values, output, environment } = context;
  const limit = readLimit(values);
  const parameters = { ...readParameters(name, values), limit: Math.min(limit, MAX_PAGE_SIZE) as never };
  // An endpoint with columns returns a list.
  const whole = calls[name](client, id, parameters, { signal: environment.stopped }) as List<object>;
  const from = textOf(values, "from");
  const list = from === undefined ? whole : whole.resumeFrom(from);
  const items: object[] = [];
  for await (const item of list) {
    items.push(item);
    if (items.length >= limit) break;
    if (items.length % PROGRESS_INTERVAL_ITEMS === 0) output.progress(`${items.length} …`);
  }
  const checkpoint = items.length >= limit ? list.checkpoint() : undefined;
  output.result({ data: items, ...(checkpoint !== undefined && { checkpoint }) }, formatTable(fields, items));
  if (checkpoint !== undefined) output.note("There may be more: give --all or a higher --limit.");
}

function readLimit(values: OptionValues): number {
  const text = textOf(values, "limit");
  if (values["all"] === true) {
    if (text === undefined) return Infinity;
    throw new UsageError("give --limit or --all, not both");
  }
  if (text === undefined) return DEFAULT_LIMIT;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError("--limit must be an integer, 1 or more");
}

/** Returns `vehicle-types list` for `vehicleTypes list`. */
function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns the option's name for a parameter: `station` for `station_id`. */
function optionNameOf(parameter: string): string {
  return parameter.replace(/_id$/, "").replaceAll("_", "-");
}

function parametersOf(name: Name): [string, Parameter][] {
  return Object.entries<Parameter>(endpoints[name].parameters);
}

function parameterOptions(name: Name): Record<string, Option> {
  const options = parametersOf(name).map(([parameter, { description, values, isNumber }]): [string, Option] => {
    const value = `<${parameter.endsWith("_id") ? "id" : parameter.replaceAll("_", " ")}>`;
    const choice = values === undefined ? "" : `: ${values.join(", ")}`;
    return [optionNameOf(parameter), { value: isNumber ? "<n>" : value, description: `${description}${choice}` }];
  });
  return Object.fromEntries(options);
}

function readParameters(name: Name, values: OptionValues): Parameters {
  const read = parametersOf(name).flatMap(([parameter, { isNumber }]): [string, string | number][] => {
    const option = optionNameOf(parameter);
    const text = textOf(values, option);
    if (text === undefined) return [];
    if (isNumber && !/^\d+$/.test(text)) throw new UsageError(`--${option} must be an integer`);
    return [[parameter, isNumber ? Number(text) : text]];
  });
  return Object.fromEntries(read) as Parameters;
}
