import {
  alert,
  bike,
  boundingBoxParam,
  changesQuery,
  dayParam,
  deliveryRecord,
  type EndpointMetadata,
  eventId,
  exportFile,
  givenIdentifier,
  idempotencyKey,
  identifierParam,
  instantParam,
  monthParam,
  pagingQuery,
  partnerContract,
  reservation,
  ride,
  riderRef,
  station,
  vehicleType,
} from "@bikeshare/contract";
import type { TextKind } from "@bikeshare/contract/pure";

/** The generated file with what the fake needs of the contract. */
export const fakeContractFile = new URL("../src/testing/contract.generated.ts", import.meta.url);

const HEAD = `// What the fake of \`@bikeshare/sdk/testing\` must know of the interface.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.
import type { Alert, Bike, DeliveryRecord, Export, Reservation, Ride, Station, VehicleType } from "../json-types.generated.ts";
import type { Endpoint } from "./parameters.ts";
`;

/** The fields of a zod schema that are used here. `typeName` tells which of the other fields it has. */
interface Schema {
  isOptional(): boolean;
  isNullable(): boolean;
  readonly _def: {
    readonly typeName: string;
    readonly innerType?: Schema;
    readonly schema?: Schema;
    readonly values?: readonly string[];
    readonly checks?: readonly { readonly kind: string; readonly value?: number }[];
    readonly shape?: () => Readonly<Record<string, Schema>>;
  };
}

/** The parts of an endpoint of the contract that are used here. */
interface Route {
  readonly method: string;
  readonly path: string;
  readonly metadata: EndpointMetadata;
  readonly pathParams?: Schema;
  readonly query?: Schema;
  readonly headers?: Schema;
  readonly body?: Schema;
}

/** The kind of text that each of these schemas of the contract describes. Endpoints share these objects. */
const kinds = new Map<unknown, TextKind>([
  [pagingQuery.page, "positiveInteger"],
  [pagingQuery.limit, "positiveInteger"],
  [pagingQuery.cursor, "cursor"],
  [changesQuery.changes_since, "cursor"],
  [identifierParam, "identifier"],
  [givenIdentifier, "givenIdentifier"],
  [riderRef, "riderRef"],
  [eventId, "eventId"],
  [idempotencyKey, "idempotencyKey"],
  [instantParam, "instant"],
  [dayParam, "day"],
  [boundingBoxParam, "boundingBox"],
  [monthParam, "month"],
]);

/** The resources of which the file has a blank, by the name of their type. */
const resources = {
  Station: station,
  Alert: alert,
  Bike: bike,
  Ride: ride,
  Reservation: reservation,
  VehicleType: vehicleType,
  Export: exportFile,
  DeliveryRecord: deliveryRecord,
};

/** Returns the text of src/testing/contract.generated.ts, made from the contract. */
export function fakeContractText(): string {
  const contract = partnerContract as unknown as Readonly<Record<string, Readonly<Record<string, Route>>>>;
  const routes = Object.values(contract).flatMap((verbs) => Object.values(verbs));
  const nameOf = ({ method, path }: Route) => JSON.stringify(`${method} ${path}`);
  const blanks = Object.entries(resources).map(([name, schema]) => [name, blankOf(schema as Schema)] as const);
  return `${HEAD}
/** Every operation of the interface: its method and path. */
export type Operation =
${routes.map((route) => `  | ${nameOf(route)}`).join("\n")};

/** Who may call each operation, and what it takes. */
export const endpoints: Readonly<Record<Operation, Endpoint>> = {
${routes.map((route) => `  ${nameOf(route)}: ${JSON.stringify(describe(route))},`).join("\n")}
};

/** Resources of which nothing is known: null where the contract allows it, else empty, 0, false or the first value. */
export const blank: Readonly<{ ${blanks.map(([name]) => `${name}: ${name}`).join("; ")} }> = {
${blanks.map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`).join("\n")}
};
`;
}

/** Returns an endpoint as parameters.ts declares it. */
function describe({ metadata, pathParams, query, headers, body }: Route) {
  return {
    scope: metadata.scope,
    ...(metadata.parameterScopes && { parameterScopes: metadata.parameterScopes }),
    path: fieldsOf(pathParams, kindOf),
    query: fieldsOf(query, kindOf),
    headers: fieldsOf(headers, kindOf),
    ...(body && { body: fieldsOf(body, (schema) => ({ kind: kindOf(schema), isRequired: !schema.isOptional() })) }),
  };
}

/** Returns the rule for a value: the kind of a text, its possible values, or the bounds of an integer. */
function kindOf(schema: Schema): unknown {
  const { innerType = schema } = schema._def;
  const { typeName, values, checks = [] } = innerType._def;
  if (typeName === "ZodEnum") return values;
  const boundOf = (kind: string) => checks.find((check) => check.kind === kind)?.value;
  if (typeName === "ZodNumber") return { minimum: boundOf("min"), maximum: boundOf("max") };
  const kind = kinds.get(schema) ?? kinds.get(innerType);
  if (kind === undefined) throw new Error(`the fake has no words for ${typeName}`);
  return kind;
}

/** Returns a resource with an empty value in each field. */
function blankOf(schema: Schema): Record<string, unknown> {
  const empty: Readonly<Record<string, unknown>> = { ZodString: "", ZodNumber: 0, ZodBoolean: false, ZodArray: [] };
  return fieldsOf(schema, (field) => {
    if (field.isNullable()) return null;
    const { typeName, values } = field._def;
    return values?.[0] ?? empty[typeName];
  });
}

/** Converts each field of an object's schema. A schema with a rule over several fields wraps the object's in `schema`. */
function fieldsOf<Value>(schema: Schema | undefined, convert: (field: Schema) => Value): Record<string, Value> {
  const { shape, schema: inner } = schema?._def ?? {};
  if (inner) return fieldsOf(inner, convert);
  return Object.fromEntries(Object.entries(shape?.() ?? {}).map(([name, field]) => [name, convert(field)]));
}
