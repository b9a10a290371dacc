import { type EndpointMetadata, partnerContract } from "@bikeshare/contract";

/* Makes the list of endpoints from which the command line of the SDK makes its commands. */

/** The fields of a zod schema that are used here. `typeName` tells which of the other fields it has. */
interface Schema {
  readonly description?: string | undefined;
  readonly _def: {
    readonly typeName: string;
    readonly innerType?: Schema;
    readonly schema?: Schema;
    readonly values?: readonly string[];
    readonly shape?: () => Readonly<Record<string, Schema>>;
  };
}

/** The parts of an endpoint that the command line needs. */
interface Endpoint {
  readonly path: string;
  readonly summary: string;
  readonly metadata: EndpointMetadata;
  readonly query?: Schema;
  readonly body?: Schema;
}

type Contract = Readonly<Record<string, Readonly<Record<string, Endpoint>>>>;

/** The file of the command line's endpoints. */
export const endpointsFile = new URL("../src/cli/endpoints.generated.ts", import.meta.url);

/** The paging parameters. Lists with page numbers have no options for them, because the client sets them itself. */
const PAGING = ["page", "limit", "cursor"];

/** Returns the text of src/cli/endpoints.generated.ts, made from the contract. */
export function endpointsText(): string {
  const endpoints = Object.entries(partnerContract as unknown as Contract).flatMap(([noun, verbs]) =>
    Object.entries(verbs)
      // Endpoints that need no key are left out: they are for monitoring.
      .filter(([, { metadata }]) => metadata.scope !== "none")
      .map(([verb, endpoint]) => [`${noun} ${verb}`, describe(endpoint)]),
  );
  return `// The commands of the command line: every endpoint that needs a key, and its parameters.
// Made from packages/contract by \`pnpm --filter @bikeshare/sdk run generate\`. Do not edit here.

export const endpoints = {
${endpoints.map(([name, endpoint]) => `  ${JSON.stringify(name)}: ${JSON.stringify(endpoint)},`).join("\n")}
} as const;
`;
}

/** Returns an endpoint as a command: its help, whether it takes an id, and its options. */
function describe({ path, summary, query, body }: Endpoint) {
  const parameters = [query, body].flatMap((schema) => Object.entries(schema ? fieldsOf(schema) : {}));
  const isPaged = parameters.some(([name]) => name === "page");
  const given = parameters.filter(([name]) => !isPaged || !PAGING.includes(name));
  return {
    summary,
    takesId: path.includes(":id"),
    parameters: Object.fromEntries(given.map(([name, schema]) => [name, describeParameter(schema)])),
  };
}

function describeParameter(schema: Schema) {
  const { typeName, values } = withoutWrapping(schema)._def;
  return {
    description: schema.description ?? "",
    ...(typeName === "ZodEnum" && { values }),
    ...(typeName === "ZodNumber" && { isNumber: true }),
  };
}

function fieldsOf(schema: Schema): Readonly<Record<string, Schema>> {
  return withoutWrapping(schema)._def.shape?.() ?? {};
}

/** Returns a schema without the wrappers that make it optional or refine it. */
function withoutWrapping(schema: Schema): Schema {
  const inner = schema._def.innerType ?? schema._def.schema;
  return inner ? withoutWrapping(inner) : schema;
}
