import { partnerContract } from "@bikeshare/contract";

/** Where the descriptions of answers stand. */
export const answersFile = new URL("../src/answers.generated.ts", import.meta.url);

const HEAD = `// What the service answers, for the optional validation.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.

import type { Answer } from "./answer-description.ts";
`;

/** What is read of a schema of zod, whose name says which of the others it has. */
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

/** The text of src/answers.generated.ts: what each operation's success is, made from the contract. */
export function answersText(): string {
  const endpoints = Object.values(partnerContract).flatMap((verbs) => Object.values(verbs) as unknown as Endpoint[]);
  const entries = endpoints.map(({ method, path, responses }) => {
    const [success] = Object.keys(responses)
      .map(Number)
      .toSorted((a, b) => a - b);
    const schema = success === undefined ? undefined : responses[success];
    if (schema === undefined) throw new Error(`${method} ${path} has no answer`);
    return `  ${JSON.stringify(`${method} ${path}`)}: ${JSON.stringify(describe(schema))},`;
  });
  return `${HEAD}
export const answers: Readonly<Record<string, Answer>> = {
${entries.join("\n")}
};
`;
}

/** A schema in the words of `Answer`. Sets of names are texts: new ones may come within a version. */
function describe(schema: Schema): unknown {
  const { typeName, checks = [], innerType, type, shape, discriminator, optionsMap } = schema._def;
  const isInstant = checks.some(({ kind }) => kind === "datetime");
  if (typeName === "ZodString") return isInstant ? "instant" : "text";
  if (typeName === "ZodEnum" || typeName === "ZodLiteral") return "text";
  if (typeName === "ZodNumber") return checks.some(({ kind }) => kind === "int") ? "whole number" : "number";
  if (typeName === "ZodBoolean") return "boolean";
  if (typeName === "ZodNullable" && innerType) return { orNull: describe(innerType) };
  if (typeName === "ZodOptional" && innerType) return { optional: describe(innerType) };
  if (typeName === "ZodArray" && type) return { list: describe(type) };
  if (typeName === "ZodObject" && shape) return { fields: describeAll(Object.entries(shape())) };
  if (typeName === "ZodDiscriminatedUnion" && discriminator !== undefined && optionsMap) {
    return { by: discriminator, kinds: describeAll(optionsMap) };
  }
  throw new Error(`no words for ${typeName}`);
}

function describeAll(schemas: Iterable<readonly [string, Schema]>): Record<string, unknown> {
  return Object.fromEntries([...schemas].map(([name, schema]) => [name, describe(schema)]));
}
