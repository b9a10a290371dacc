import { partnerContract } from "@bikeshare/contract";

/** The file of the response shapes. */
export const responseShapesFile = new URL("../src/response-shapes.generated.ts", import.meta.url);

const HEAD = `// What the service answers, for the optional validation.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.

import type { ResponseShape } from "./response-shape.ts";
`;

/** The fields of a zod schema that are used here. `typeName` tells which of the other fields it has. */
interface Schema {
  readonly _def: {
    readonly typeName: string;
    readonly checks?: readonly { readonly kind: string }[];
    readonly innerType?: Schema;
    readonly type?: Schema;
    readonly discriminator?: string;
    readonly optionsMap?: ReadonlyMap<string, Schema>;
    readonly shape?: () => Readonly<Record<string, Schema>>;
  };
}

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly responses: Readonly<Record<number, Schema>>;
}

/** Returns the text of src/response-shapes.generated.ts: the shape of each operation's success, by the contract. */
export function responseShapesText(): string {
  const endpoints = Object.values(partnerContract).flatMap((verbs) => Object.values(verbs) as unknown as Endpoint[]);
  const entries = endpoints.map(({ method, path, responses }) => {
    // An endpoint has one success, whose status is lower than those of the errors.
    const [success] = Object.keys(responses)
      .map(Number)
      .toSorted((a, b) => a - b);
    const schema = success === undefined ? undefined : responses[success];
    if (schema === undefined) throw new Error(`${method} ${path} has no response`);
    return `  ${JSON.stringify(`${method} ${path}`)}: ${JSON.stringify(shapeOf(schema))},`;
  });
  return `${HEAD}
export const responseShapes: Readonly<Record<string, ResponseShape>> = {
${entries.join("\n")}
};
`;
}

/** Returns a schema as a `ResponseShape`. Enums become strings, because values may be added within a version. */
function shapeOf(schema: Schema): unknown {
  const { typeName, checks = [], innerType, type, shape, discriminator, optionsMap } = schema._def;
  const isTimestamp = checks.some(({ kind }) => kind === "datetime");
  if (typeName === "ZodString") return isTimestamp ? "timestamp" : "string";
  if (typeName === "ZodEnum" || typeName === "ZodLiteral") return "string";
  if (typeName === "ZodNumber") return checks.some(({ kind }) => kind === "int") ? "integer" : "number";
  if (typeName === "ZodBoolean") return "boolean";
  if (typeName === "ZodNullable" && innerType) return { nullable: shapeOf(innerType) };
  if (typeName === "ZodOptional" && innerType) return { optional: shapeOf(innerType) };
  if (typeName === "ZodArray" && type) return { items: shapeOf(type) };
  if (typeName === "ZodObject" && shape) return { properties: shapesOf(Object.entries(shape())) };
  if (typeName === "ZodDiscriminatedUnion" && discriminator !== undefined && optionsMap) {
    return { discriminator, variants: shapesOf(optionsMap) };
  }
  throw new Error(`there is no shape for ${typeName}`);
}

function shapesOf(schemas: Iterable<readonly [string, Schema]>): Record<string, unknown> {
  return Object.fromEntries([...schemas].map(([name, schema]) => [name, shapeOf(schema)]));
}
