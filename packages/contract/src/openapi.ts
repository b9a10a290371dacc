import type { AppRouter } from "@ts-rest/core";
import { gbfsContract } from "./gbfs.ts";
import { describeContract, SCHEME } from "./openapi/describe.ts";
import type { Components, OpenApiDocument } from "./openapi/document.ts";
import { gbfsIntroduction } from "./openapi/gbfs-introduction.ts";
import { headers, ifNoneMatch } from "./openapi/headers.ts";
import { introduction } from "./openapi/introduction.ts";
import { operatorIntroduction } from "./openapi/operator-introduction.ts";
import { webhooks } from "./openapi/webhooks.ts";
import { operatorContract } from "./operator.ts";
import { partnerContract } from "./partner.ts";

export { SCHEME } from "./openapi/describe.ts";
export type { OpenApiDocument } from "./openapi/document.ts";

/** What a document says of the deployment that it describes. */
export interface DocumentOptions {
  /** Where this deployment is reached, such as `https://bikes.example`. */
  readonly baseUrl: string;
  /** The service's version. */
  readonly version: string;
}

const partnerTags: Readonly<Record<keyof typeof partnerContract | "webhooks", string>> = {
  stations: "Places where bikes are rented and returned.",
  vehicleTypes: "What the vehicle type ids on stations, bikes and rides mean.",
  regions: "What the region ids on stations mean.",
  rides: "One bike's way from start to end. Who rode is never shown.",
  bikes: "Bikes, and other vehicles that are shared the same way.",
  reservations: "Bikes held for your riders, for some minutes from now. You see your own only.",
  events: "What happened, in order, to catch up after you were down.",
  me: "What the service knows of your key.",
  health: "For load balancers and monitors. No key.",
  webhooks: "What is POSTed to the address that you register.",
};

const gbfsTags = { gbfs: "The General Bikeshare Feed Specification, as journey planners read it." };

const operatorTags: Readonly<Record<keyof typeof operatorContract, string>> = {
  stations: "Places where bikes are rented and returned.",
  bikes: "Bikes, and other vehicles that are shared the same way.",
  rides: "One bike's way from start to end. Never send who rode.",
};

/** The OpenAPI 3.1 document of the partners' interface, derived from the contract. */
export function createOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  const baseUrl = baseOf(options);
  const deliveries = webhooks();
  return assemble(partnerContract, partnerTags, {
    baseUrl,
    deliveries,
    info: {
      title: "Bike-Sharing Data Service",
      version: options.version,
      summary: "Stations, rides, bikes and reservations of a bike-sharing system, for its partners.",
      description: introduction(baseUrl),
    },
    keyDescription: "The key that the operator issued: `Authorization: Bearer <API_KEY>`.",
  });
}

/** The OpenAPI 3.1 document of the operator's interface, through which its backend feeds the service. */
export function createOperatorOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  const baseUrl = baseOf(options);
  return assemble(operatorContract, operatorTags, {
    baseUrl,
    deliveries: { webhooks: {}, schemas: {} },
    info: {
      title: "Bike-Sharing Data Service: operator's interface",
      version: options.version,
      summary: "How the operator's backend tells the service of stations, bikes and rides.",
      description: operatorIntroduction(baseUrl),
    },
    keyDescription:
      "An operator key (`bss_operator_…`): `Authorization: Bearer <API_KEY>`. Partners' keys are refused.",
  });
}

/** The OpenAPI 3.1 document of the public GBFS feeds. What their `data` holds is laid down by GBFS's own schemas. */
export function createGbfsOpenApiDocument(options: DocumentOptions): OpenApiDocument {
  const baseUrl = baseOf(options);
  return assemble({ gbfs: gbfsContract }, gbfsTags, {
    baseUrl,
    deliveries: { webhooks: {}, schemas: {} },
    info: {
      title: "Bike-Sharing Data Service: public GBFS feeds",
      version: options.version,
      summary: "Stations and vehicles as GBFS 2.3 and 3.0, for everybody.",
      description: gbfsIntroduction(baseUrl),
    },
  });
}

function baseOf({ baseUrl }: DocumentOptions): string {
  return baseUrl.replace(/\/+$/, "");
}

function assemble(
  contract: AppRouter,
  tags: Readonly<Record<string, string>>,
  parts: {
    readonly baseUrl: string;
    readonly info: Omit<OpenApiDocument["info"], "contact" | "license">;
    readonly deliveries: { readonly webhooks: OpenApiDocument["webhooks"]; readonly schemas: Components["schemas"] };
    /** Undefined: no key is asked for. */
    readonly keyDescription?: string;
  },
): OpenApiDocument {
  const { paths, schemas } = describeContract(contract);
  const { baseUrl, keyDescription } = parts;
  const used = new Set(JSON.stringify(paths).match(/#\/components\/(?:headers|parameters)\/[\w-]+/g));
  const onlyUsed = <Part>(kind: "headers" | "parameters", all: Readonly<Record<string, Part>>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => used.has(`#/components/${kind}/${name}`)));
  return {
    openapi: "3.1.0",
    info: {
      ...parts.info,
      contact: { name: "The operator of this service", url: baseUrl },
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: parts.deliveries.webhooks,
    components: {
      schemas: { ...schemas, ...parts.deliveries.schemas },
      headers: onlyUsed("headers", headers),
      parameters: onlyUsed("parameters", { [ifNoneMatch.name]: ifNoneMatch }),
      securitySchemes:
        keyDescription === undefined
          ? {}
          : { [SCHEME]: { type: "http", scheme: "bearer", description: keyDescription } },
    },
  };
}
