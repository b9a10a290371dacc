import type { Example, OpenApiDocument, Operation, PathItem, Response } from "./openapi/document.ts";
import { answerExamples } from "./openapi/examples.ts";
import { generate } from "./openapi/generate.ts";
import { headers, ifNoneMatch } from "./openapi/headers.ts";
import { introduction } from "./openapi/introduction.ts";
import { type EndpointTraits, failure, notModified, success } from "./openapi/responses.ts";
import { webhooks } from "./openapi/webhooks.ts";
import { partnerContract } from "./partner.ts";

export type { OpenApiDocument } from "./openapi/document.ts";

/** The name of the security scheme in the document. */
const SCHEME = "apiKey";

const tags: Readonly<Record<keyof typeof partnerContract | "webhooks", string>> = {
  stations: "Places where bikes are rented and returned.",
  rides: "One bike's way from start to end. Who rode is never shown.",
  bikes: "Bikes, and other vehicles that are shared the same way.",
  me: "What the service knows of your key.",
  health: "For load balancers and monitors. No key.",
  webhooks: "What will be POSTed to the address that you register. Coming: this version does not send them yet.",
};

/**
 * The OpenAPI 3.1 document of the partners' interface, derived from the contract.
 *
 * @param options.baseUrl where this deployment is reached, such as `https://bikes.example`
 * @param options.version the service's version
 */
export function createOpenApiDocument(options: { baseUrl: string; version: string }): OpenApiDocument {
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const { paths, schemas } = generate(partnerContract, "clients");
  const deliveries = webhooks();
  return {
    openapi: "3.1.0",
    info: {
      title: "Bike-Sharing Data Service",
      version: options.version,
      summary: "Stations, rides and bikes of a bike-sharing system, for its partners.",
      description: introduction(baseUrl),
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, describePath(path, item)])),
    webhooks: deliveries.webhooks,
    components: {
      schemas: { ...schemas, ...deliveries.schemas },
      headers,
      parameters: { [ifNoneMatch.name]: ifNoneMatch },
      securitySchemes: {
        [SCHEME]: {
          type: "http",
          scheme: "bearer",
          description: "The key that the operator issued: `Authorization: Bearer <API_KEY>`.",
        },
      },
    },
  };
}

function describePath(path: string, item: PathItem): PathItem {
  const described = Object.entries(item).map(([method, operation]): [string, Operation] => {
    return [method, describe(operation, method === "get" && path.startsWith("/v1/"))];
  });
  return Object.fromEntries(described);
}

function describe(operation: Operation, isConditional: boolean): Operation {
  const scope = operation["x-required-scope"] ?? "none";
  const parameters = operation.parameters ?? [];
  const isPaged = parameters.some((parameter) => "name" in parameter && parameter.name === "cursor");
  return {
    ...operation,
    description: [operation.description, needs(scope)].filter((text) => text !== undefined).join("\n\n"),
    parameters: isConditional ? [...parameters, { $ref: `#/components/parameters/${ifNoneMatch.name}` }] : parameters,
    responses: describeResponses(operation.responses, { scope, isPaged, isConditional }),
    security: scope === "none" ? [] : [{ [SCHEME]: scope === "any" ? [] : [scope] }],
  };
}

function needs(scope: string): string {
  if (scope === "none") return "Needs no key.";
  return scope === "any" ? "Needs a key with whatever scopes." : `Needs a key with the scope \`${scope}\`.`;
}

function describeResponses(
  generated: Readonly<Record<string, Response>>,
  traits: EndpointTraits,
): Record<string, Response> {
  const described: Record<string, Response> = traits.isConditional ? { 304: notModified(traits) } : {};
  for (const [status, response] of Object.entries(generated)) {
    const isSuccess = status.startsWith("2");
    described[status] = isSuccess
      ? success(response, traits, examplesOf(response))
      : failure(Number(status), response, traits);
  }
  return described;
}

function examplesOf(response: Response): Record<string, Example> {
  const reference = response.content?.["application/json"]?.schema["$ref"];
  const name = typeof reference === "string" ? reference.split("/").at(-1) : undefined;
  return { ...answerExamples[name ?? ""] };
}
