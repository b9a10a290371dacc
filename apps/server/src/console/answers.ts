import type { consoleContract } from "@bikeshare/contract/console";
import type { AppRoute, AppRouter } from "@ts-rest/core";
import type { RouterImplementation } from "@ts-rest/fastify";
import { z, type ZodTypeAny } from "zod";

/*
 * Conversion of results to the contract's types. The contract alone defines the responses for pages. A handler returns the
 * result of its service or statement, with additional fields and with dates for the contract's instants; the contract's
 * schema selects the fields, so that a new column of a table is never sent by accident.
 */

/**
 * A value of the contract as a handler may return it, with a `Date` for an instant. The type of an instant is `string`,
 * to which `string extends Wire` applies; a union of texts, such as a status, has no `Date`.
 */
export type Served<Wire> = Wire extends string
  ? string extends Wire
    ? Wire | Date
    : Wire
  : Wire extends object
    ? { readonly [Field in keyof Wire]: Served<Wire[Field]> }
    : Wire;

/** A handler of the contract that returns `Served` values; `never` for a part of the contract with endpoints of its own. */
type Handler<Contract> = Contract extends (call: infer Call) => Promise<infer Answer>
  ? (call: Call) => Promise<Served<Answer>>
  : never;
/** The handlers of a contract, nested as its parts are. Where `Handler` is `never`, the part has endpoints of its own. */
type Handlers<Contract> = {
  readonly [Name in keyof Contract]: [Handler<Contract[Name]>] extends [never]
    ? Handlers<Contract[Name]>
    : Handler<Contract[Name]>;
};

/** The handlers of the console's contract. */
export type ConsoleRoutes = Handlers<RouterImplementation<typeof consoleContract>>;

type AnyHandler = (call: never) => Promise<{ readonly status: number; readonly body: unknown }>;

/** Returns the same handlers, whose answers have the fields that the contract lists and no others. */
export function answeringByContract<Contract extends AppRouter>(
  contract: Contract,
  routes: Handlers<RouterImplementation<Contract>>,
): RouterImplementation<Contract> {
  return shapeRoutes(contract, routes) as RouterImplementation<Contract>;
}

function shapeRoutes(contract: AppRouter, routes: object): object {
  const named = routes as Readonly<Record<string, object>>;
  return Object.fromEntries(
    Object.entries(contract).map(([name, part]) => [
      name,
      isEndpoint(part) ? shapeHandler(part, named[name] as AnyHandler) : shapeRoutes(part, named[name] ?? {}),
    ]),
  );
}

function isEndpoint(part: AppRoute | AppRouter): part is AppRoute {
  return typeof part.method === "string";
}

function shapeHandler({ responses }: AppRoute, handler: AnyHandler): AnyHandler {
  const schema = responses[200];
  const shape = schema instanceof z.ZodType ? shapeOf(schema) : same;
  return async (call) => {
    const { status, body } = await handler(call);
    // A string is ready to be sent (JSON or the text of a file), and bytes are a file.
    const hasFields = typeof body === "object" && !(body instanceof Uint8Array);
    return { status, body: status === 200 && hasFields ? shape(body) : body };
  };
}

type Shape = (value: unknown) => unknown;

const same: Shape = (value) => value;

/** Caches shapes by schema, because endpoints share schemas and tests create hundreds of services. */
const shapes = new WeakMap<ZodTypeAny, Shape>();

function shapeOf(schema: ZodTypeAny): Shape {
  const known = shapes.get(schema);
  if (known !== undefined) return known;
  const shape = makeShape(schema);
  shapes.set(schema, shape);
  return shape;
}

/** Kinds of schemas whose values are sent as they are: they have no fields. */
const LEAVES = [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodLiteral, z.ZodEnum, z.ZodNull, z.ZodUnknown];

/**
 * Returns a function that picks a schema's fields from a value. Dates stay: JSON writes them as the contract's instants.
 * @throws Error, when the service starts, for a kind of schema whose fields it cannot pick
 */
function makeShape(schema: ZodTypeAny): Shape {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    const shape = shapeOf(schema.unwrap() as ZodTypeAny);
    return (value) => (value === null || value === undefined ? value : shape(value));
  }
  if (schema instanceof z.ZodArray) {
    const shape = shapeOf(schema.element as ZodTypeAny);
    return (value) => (value as readonly unknown[]).map(shape);
  }
  if (schema instanceof z.ZodUnion) return shapeOfEither(schema.options as readonly ZodTypeAny[]);
  if (schema instanceof z.ZodObject) return shapeOfFields(fieldsOf(schema));
  if (schema instanceof z.ZodRecord) {
    const shape = shapeOf(schema.valueSchema as ZodTypeAny);
    return (value) =>
      Object.fromEntries(Object.entries(value as object).map(([name, each]: [string, unknown]) => [name, shape(each)]));
  }
  if (schema instanceof z.ZodTuple) {
    const items = (schema.items as readonly ZodTypeAny[]).map(shapeOf);
    return (value) => items.map((shape, index) => shape((value as readonly unknown[])[index]));
  }
  if (schema instanceof z.ZodEffects) return shapeOf(schema.innerType() as ZodTypeAny);
  if (schema instanceof z.ZodDefault) return shapeOf(schema.removeDefault() as ZodTypeAny);
  if (LEAVES.some((kind) => schema instanceof kind)) return same;
  throw new Error(`The console's answers have no shape for ${schema.constructor.name}.`);
}

function fieldsOf(schema: ZodTypeAny): Readonly<Record<string, ZodTypeAny>> {
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, ZodTypeAny>) : {};
}

/** Returns a function that shapes a value by the first schema whose required fields the value has. */
function shapeOfEither(options: readonly ZodTypeAny[]): Shape {
  const choices = options.map((option) => ({
    shape: shapeOf(option),
    needed: Object.entries(fieldsOf(option)).flatMap(([name, field]) => (field.isOptional() ? [] : [name])),
  }));
  return (value) => {
    const choice = choices.find(({ needed }) => needed.every((name) => name in (value as object)));
    // Throws, because a value that is sent unshaped would show every field that the service has.
    if (choice === undefined) throw new Error("An answer has none of the forms that the contract lists.");
    return choice.shape(value);
  };
}

function shapeOfFields(fields: Readonly<Record<string, ZodTypeAny>>): Shape {
  const fieldShapes = Object.entries(fields).map(([name, schema]) => [name, shapeOf(schema)] as const);
  return (value) => {
    const from = value as Readonly<Record<string, unknown>>;
    return Object.fromEntries(
      fieldShapes.flatMap(([name, shape]) => (from[name] === undefined ? [] : [[name, shape(from[name])]])),
    );
  };
}
