import type { AppRouter } from "@ts-rest/core";
import type { Components, Example, JsonSchema, Operation, PathItem, RequestBody, Response } from "./document.ts";
import { answerExamples, type Examples, requestExamples } from "./examples.ts";
import { generate, type Metadata } from "./generate.ts";
import { ifNoneMatch } from "./headers.ts";
import { type EndpointTraits, failure, notModified, success } from "./responses.ts";

/** The name of the security scheme in the documents. */
export const SCHEME = "apiKey";

const JSON_TYPE = "application/json";

/** A contract's endpoints, each with what it needs, its answers, its errors and examples in words. */
export function describeContract(contract: AppRouter): {
  readonly paths: Record<string, PathItem>;
  readonly schemas: Components["schemas"];
} {
  const { paths, schemas, metadata } = generate(contract, "clients");
  const described = Object.entries(paths).map(([path, item]): [string, PathItem] => {
    const operations = Object.entries(item).map(([method, operation]): [string, Operation] => {
      const known = metadata.get(operation.operationId);
      if (known === undefined) throw new Error(`no metadata was generated for ${operation.operationId}`);
      return [method, describe(operation, known, method === "get" && /^\/(v1|gbfs)\//.test(path))];
    });
    return [path, Object.fromEntries(operations)];
  });
  return { paths: Object.fromEntries(described), schemas };
}

function describe(operation: Operation, metadata: Metadata, isConditional: boolean): Operation {
  const { scope } = metadata;
  const parameters = operation.parameters ?? [];
  const isPaged = parameters.some((parameter) => "name" in parameter && parameter.name === "cursor");
  const texts = [operation.description, itemErrors(metadata), needs(scope)];
  return {
    ...operation,
    description: texts.filter((text) => text !== undefined).join("\n\n"),
    parameters: isConditional ? [...parameters, { $ref: `#/components/parameters/${ifNoneMatch.name}` }] : parameters,
    ...(operation.requestBody ? { requestBody: withExamples(operation.operationId, operation.requestBody) } : {}),
    responses: describeResponses(operation, { ...metadata, isPaged, isConditional }),
    security: scope === "none" ? [] : [{ [SCHEME]: scope === "any" ? [] : [scope] }],
  };
}

function itemErrors({ itemErrors: codes }: Metadata): string | undefined {
  if (codes.length === 0) return undefined;
  return `A single item may fail with ${codes.map((code) => `\`${code}\``).join(", ")}; the others are done.`;
}

function needs(scope: string): string {
  switch (scope) {
    case "none":
      return "Needs no key.";
    case "any":
      return "Needs a key with whatever scopes.";
    case "operator":
      return "Needs an operator key, which has the scope `operator`.";
    default:
      return `Needs a key with the scope \`${scope}\`.`;
  }
}

function describeResponses({ operationId, responses }: Operation, traits: EndpointTraits): Record<string, Response> {
  const described: Record<string, Response> = traits.isConditional ? { 304: notModified(traits) } : {};
  for (const [status, response] of Object.entries(responses)) {
    if (status === "304") continue;
    described[status] = status.startsWith("2")
      ? success(
          Number(status),
          response,
          traits,
          examplesOf(operationId, response.content?.[JSON_TYPE]?.schema, answerExamples),
        )
      : failure(Number(status), response, traits);
  }
  return described;
}

function withExamples(operationId: string, body: RequestBody): RequestBody {
  const schema = body.content[JSON_TYPE]?.schema ?? {};
  return { ...body, content: { [JSON_TYPE]: { schema, examples: examplesOf(operationId, schema, requestExamples) } } };
}

function examplesOf(operationId: string, schema: JsonSchema | undefined, examples: Examples): Record<string, Example> {
  const reference = schema?.["$ref"];
  const name = typeof reference === "string" ? reference.split("/").at(-1) : undefined;
  return { ...(examples[operationId] ?? examples[name ?? ""]) };
}
