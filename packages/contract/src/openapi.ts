import type { AppRouter } from "@ts-rest/core";
import { describeDeprecation } from "./deprecation.ts";
import { gbfsContract } from "./gbfs.ts";
import { mdsContract } from "./mds.ts";
import { MDS_MEDIA_TYPE } from "./mds/words.ts";
import type {
  Components,
  OpenApiDocument,
  Example,
  JsonSchema,
  MediaType,
  Operation,
  PathItem,
  RequestBody,
  Response,
} from "./openapi/document.ts";
import { answerExamples, type Examples, requestExamples } from "./openapi/examples.ts";
import { generate, type Metadata } from "./openapi/generate.ts";
import {
  gbfsIntroduction,
  introduction,
  mdsIntroduction,
  operatorIntroduction,
  sandboxIntroduction,
} from "./openapi/introduction.ts";
import { mapValues } from "./openapi/json-schema.ts";
import {
  headers,
  ifNoneMatch,
  type EndpointTraits,
  failure,
  JSON_TYPE,
  notModified,
  success,
} from "./openapi/responses.ts";
import { webhooks } from "./openapi/webhooks.ts";
import { operatorContract } from "./operator.ts";
import { partnerContract } from "./partner.ts";
import { sandboxContract } from "./sandbox.ts";

export type { JsonSchema, OpenApiDocument } from "./openapi/document.ts";

/*
 * Makes the OpenAPI documents from the contracts. openapi/generate.ts derives the paths and schemas. Here each endpoint gets
 * the texts that follow from its metadata: the scope it needs, its errors, headers and examples.
 */

/** The name of the security scheme in the documents. */
export const SCHEME = "apiKey";

/** The deployment that a document describes, and the use of the document. */
export interface DocumentOptions {
  /** The base address of this deployment, such as `https://bikes.example`. */
  readonly baseUrl: string;
  /** The service's version. */
  readonly version: string;
  /**
   * The use of the document. With `clients` (the default) the name of an event determines its type; with `validators` an
   * event with a name newer than the document is valid too.
   */
  readonly readers?: "clients" | "validators";
}

/** The name and description of a group of endpoints. */
type Tag = readonly [name: string, description: string];

const partnerTags: Readonly<Record<keyof typeof partnerContract | "webhooks", Tag>> = {
  stations: ["Stations", "Places where bikes are rented and returned."],
  vehicleTypes: ["Vehicle types", "The vehicle types that stations, bikes and rides name by id."],
  regions: ["Regions", "The regions that stations name by id."],
  alerts: ["Alerts", "What riders should know: closures, moves, disturbances."],
  rides: ["Rides", "A bike's trip from start to end. Who rode is never shown."],
  bikes: ["Bikes", "Bikes, and other vehicles that are shared the same way."],
  reservations: ["Reservations", "Bikes held for your riders, for some minutes from now. You see your own only."],
  events: ["Events", "What happened, in order, to catch up after an outage."],
  deliveries: [
    "Deliveries",
    "What was sent to your webhooks, whether it arrived and why not, and how to send it again.",
  ],
  flows: ["Flows", "How many rides go from one station to another."],
  system: ["System", "Fleet, rides and stations of the whole system over time."],
  exports: ["Exports", "Files of open data: rides, stations and their history."],
  me: ["Your key", "Your key's scopes, expiry and limits."],
  health: ["Health", "For load balancers and monitoring. Needs no key."],
  webhooks: ["Webhooks", "What is POSTed to the address that you register."],
};

const gbfsTags: Readonly<Record<string, Tag>> = {
  gbfs: ["GBFS feeds", "Public feeds by the General Bikeshare Feed Specification, for journey planners."],
};

const mdsTags: Readonly<Record<string, Tag>> = {
  mds: ["Mobility Data Specification", "The Provider API 2.0, for cities."],
};

const sandboxTags: Readonly<Record<string, Tag>> = {
  sandbox: ["Sandbox", "How a test controls its city."],
};

const operatorTags: Readonly<Record<keyof typeof operatorContract, Tag>> = {
  stations: ["Stations", "Places where bikes are rented and returned."],
  bikes: ["Bikes", "Bikes, and other vehicles that are shared the same way."],
  rides: ["Rides", "A bike's trip from start to end. Never send who rode."],
  alerts: ["Alerts", "What riders should know: closures, moves, disturbances."],
  system: ["System", "What GBFS publishes of the system: its name, contacts, apps, links and terms."],
  vehicleTypes: [
    "Vehicle types",
    "What GBFS publishes of each type, such as its pricing plan and where vehicles may be left.",
  ],
  regions: ["Regions", "The names of the regions that stations are in."],
  pricingPlans: ["Pricing plans", "What riders pay. Without plans some planners show no vehicle at all."],
  stationFacts: ["Facts of stations", "What GBFS publishes of a station beyond its state."],
  bikeFacts: ["Facts of bikes", "What GBFS publishes of a bike beyond its state."],
  geofencingZones: ["Geofencing zones", "Where rides may begin, end and pass through. All zones are set at once."],
  dashboardLinks: ["Dashboard links", "Partners' pages of the dashboard, within your own portal."],
};

/** Returns the OpenAPI 3.1 document of the partners' interface, derived from the contract. */
export function createOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  return assemble(options, partnerContract, partnerTags, {
    deliveries: webhooks(),
    info: {
      title: "Bike-Sharing Data Service",
      summary: "Stations, rides, bikes and reservations of a bike-sharing system, for its partners.",
    },
    introduction,
    keyDescription:
      "Your API key, from the operator or from the dashboard's page Keys: `Authorization: Bearer <API_KEY>`.",
  });
}

/** Returns the OpenAPI 3.1 document of the operator's interface, through which its backend feeds the service. */
export function createOperatorOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  return assemble(options, operatorContract, operatorTags, {
    info: {
      title: "Bike-Sharing Data Service: operator's interface",
      summary: "For the operator's backend, which sends stations, bikes, rides and alerts.",
    },
    introduction: operatorIntroduction,
    keyDescription:
      "An operator key (`bss_operator_…`): `Authorization: Bearer <API_KEY>`. Partners' keys are refused.",
  });
}

/** Returns the OpenAPI 3.1 document of the public GBFS feeds. GBFS's own schemas define their `data`. */
export function createGbfsOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  return assemble(options, { gbfs: gbfsContract }, gbfsTags, {
    info: {
      title: "Bike-Sharing Data Service: public GBFS feeds",
      summary: "Stations and vehicles as GBFS 2.3 and 3.0, for everybody.",
    },
    introduction: gbfsIntroduction,
  });
}

/** Returns the OpenAPI 3.1 document of the interface to partners' sandboxes. */
export function createSandboxOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  return assemble(options, { sandbox: sandboxContract }, sandboxTags, {
    info: {
      title: "Bike-Sharing Data Service: sandbox",
      summary: "How a partner's tests control a city of their own.",
    },
    introduction: sandboxIntroduction,
    keyDescription: "A key of your sandbox (`bss_test_…`): `Authorization: Bearer <API_KEY>`. Live keys are refused.",
  });
}

/** Returns the OpenAPI 3.1 document of the Provider API for cities. */
export function createMdsOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  const document = assemble(options, { mds: mdsContract }, mdsTags, {
    info: {
      title: "Bike-Sharing Data Service: Provider API for cities",
      summary: "Vehicles, events, trips and stations by the Mobility Data Specification 2.0.",
    },
    introduction: mdsIntroduction,
    keyDescription: "A token of /mds/token, or the agency's key: `Authorization: Bearer <TOKEN>`.",
  });
  const paths = mapValues(document.paths, (item, path): PathItem =>
    mapValues(item, (operation) => withTypesOfMds(operation, path)),
  );
  return { ...document, paths };
}

/** Sets MDS's own media type, and removes the examples: they show our form of errors, and MDS has another. */
function withTypesOfMds(operation: Operation, path: string): Operation {
  const jsonType = path === "/mds/token" ? JSON_TYPE : MDS_MEDIA_TYPE;
  const responses = mapValues(operation.responses, ({ content, ...response }): Response => {
    if (content === undefined) return response;
    const entries = Object.entries(content).map(([type, { schema }]): [string, MediaType] => [
      type === JSON_TYPE ? jsonType : type,
      { schema },
    ]);
    return { ...response, content: Object.fromEntries(entries) };
  });
  return { ...operation, responses };
}

/** Assembles a document: the described endpoints, and those headers and parameters that they refer to. */
function assemble(
  options: DocumentOptions,
  contract: AppRouter,
  tags: Readonly<Record<string, Tag>>,
  parts: {
    readonly info: Pick<OpenApiDocument["info"], "title" | "summary">;
    readonly introduction: (baseUrl: string) => string;
    readonly deliveries?: ReturnType<typeof webhooks>;
    /** Undefined: no key is asked for. */
    readonly keyDescription?: string;
  },
): OpenApiDocument {
  const { paths, schemas } = describeContract(contract, options.readers);
  const { deliveries = { webhooks: {}, schemas: {} }, info, introduction: introduce, keyDescription } = parts;
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const used = new Set(JSON.stringify(paths).match(/#\/components\/(?:headers|parameters)\/[\w-]+/g));
  const onlyUsed = <Part>(kind: "headers" | "parameters", all: Readonly<Record<string, Part>>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`#/components/${kind}/${name}`)));
  return {
    openapi: "3.1.0",
    info: {
      title: info.title,
      version: options.version,
      summary: info.summary,
      description: introduce(baseUrl),
      contact: { name: "The operator of this service", url: baseUrl },
      // This is the licence of the data, which each operator chooses. It is not the licence of this program.
      license: { name: "The data's licence, from the operator", url: `${baseUrl}/gbfs/3.0/system_information.json` },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(tags).map(([name, [shown, description]]) => ({ name, description, "x-displayName": shown })),
    paths,
    webhooks: deliveries.webhooks,
    components: {
      schemas: { ...schemas, ...deliveries.schemas },
      headers: onlyUsed("headers", headers),
      parameters: onlyUsed("parameters", { [ifNoneMatch.name]: ifNoneMatch }),
      securitySchemes:
        keyDescription === undefined
          ? {}
          : { [SCHEME]: { type: "http", scheme: "bearer", description: keyDescription } },
    },
  };
}

/** Describes a contract's endpoints: their requirements, responses, errors and examples. */
export function describeContract(
  contract: AppRouter,
  readers: DocumentOptions["readers"] = "clients",
): {
  readonly paths: Record<string, PathItem>;
  readonly schemas: Components["schemas"];
} {
  const { paths, schemas, metadata } = generate(contract, { bodies: "clients", readers });
  const described = mapValues(paths, (item, path): PathItem =>
    mapValues(item, (operation, method) => {
      const known = metadata.get(operation.operationId);
      if (known === undefined) throw new Error(`no metadata was generated for ${operation.operationId}`);
      return describe(operation, known, method === "get" && hasNotModified(path, operation));
    }),
  );
  return { paths: described, schemas };
}

/** Tells whether an endpoint answers 304 to a caller whose copy is current. MDS endpoints do only if they declare a 304. */
function hasNotModified(path: string, { responses }: Operation): boolean {
  return path.startsWith("/mds/") ? "304" in responses : /^\/(v1|gbfs)\//.test(path);
}

/** Completes a generated endpoint by what follows from its metadata. @param isConditional whether it may answer 304 */
function describe(operation: Operation, metadata: Metadata, isConditional: boolean): Operation {
  const { scope } = metadata;
  const parameters = operation.parameters ?? [];
  const isPaged = parameters.some((parameter) => "name" in parameter && parameter.name === "cursor");
  const isAnyScopeEnough = scope === "any" || scope === "sandbox";
  const { deprecated } = metadata;
  const notice = deprecated && describeDeprecation(deprecated);
  const texts = [
    notice,
    operation.description,
    itemErrorsText(metadata),
    neededKeyText(scope, metadata.parameterScopes),
  ];
  return {
    ...operation,
    ...(metadata.itemErrors.length > 0 && { "x-item-errors": metadata.itemErrors }),
    ...(deprecated && { deprecated: true, "x-sunset": deprecated.sunset }),
    description: texts.filter((text) => text !== undefined).join("\n\n"),
    parameters: isConditional ? [...parameters, { $ref: `#/components/parameters/${ifNoneMatch.name}` }] : parameters,
    ...(operation.requestBody ? { requestBody: withExamples(operation.operationId, operation.requestBody) } : {}),
    responses: describeResponses(operation, {
      ...metadata,
      isPaged,
      isConditional,
      isDeprecated: deprecated !== undefined,
    }),
    security: scope === "none" ? [] : [{ [SCHEME]: isAnyScopeEnough ? [] : [scope] }],
  };
}

/** Returns a sentence about the errors of single items; undefined: the endpoint takes no batch. */
function itemErrorsText({ itemErrors: codes }: Metadata): string | undefined {
  if (codes.length === 0) return undefined;
  return `A single item may fail with ${codes.map((code) => `\`${code}\``).join(", ")}; the other items are done.`;
}

/** Returns a sentence about the key that an endpoint needs. */
function neededKeyText(scope: string, parameterScopes: Metadata["parameterScopes"]): string {
  switch (scope) {
    case "none":
      return "Needs no key.";
    case "any":
      return "Needs a key, whatever its scopes.";
    case "sandbox":
      return "Needs a key of a sandbox, whatever its scopes.";
    case "operator":
      return "Needs an operator key, which has the scope `operator`.";
    default:
      return [
        `Needs a key with the scope \`${scope}\``,
        ...Object.entries(parameterScopes).map(([name, other]) => `; with \`${name}\` the scope \`${other}\` too`),
        ".",
      ].join("");
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

/** Returns the examples of an endpoint or, if it has none of its own, those of the named schema. */
function examplesOf(operationId: string, schema: JsonSchema | undefined, examples: Examples): Record<string, Example> {
  const reference = schema?.["$ref"];
  const name = typeof reference === "string" ? reference.split("/").at(-1) : undefined;
  return { ...(examples[operationId] ?? examples[name ?? ""]) };
}
