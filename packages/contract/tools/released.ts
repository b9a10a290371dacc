/** The contract of the last release: its OpenAPI documents in `released/`, without the texts for human readers. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createGbfsOpenApiDocument, createOpenApiDocument, createOperatorOpenApiDocument } from "../src/openapi.ts";
import type { OpenApiDocument } from "../src/openapi/document.ts";
import type { Contract } from "./compare-documents.ts";

const directory = join(import.meta.dirname, "../released");

const create = {
  partners: createOpenApiDocument,
  operator: createOperatorOpenApiDocument,
  gbfs: createGbfsOpenApiDocument,
};

/** The documents that are compared: for partners, for the operator's backend, and of the public feeds. */
export const documentNames = ["partners", "operator", "gbfs"] as const;
export type DocumentName = (typeof documentNames)[number];

/** Returns a document of the present contract. */
export function presentContract(name: DocumentName): Contract {
  // The document for validators contains more: the defaults, and the union members for names that are added later.
  return essentials(create[name]({ baseUrl: "https://bikes.example", version: "0.0.0", readers: "validators" }));
}

/** Returns a document of the last release's contract. */
export function releasedContract(name: DocumentName): Contract {
  return JSON.parse(readFileSync(pathOf(name), "utf8")) as Contract;
}

/** Records the present contract as that of the last release. */
export function writeReleased(): void {
  mkdirSync(directory, { recursive: true });
  for (const name of documentNames) writeFileSync(pathOf(name), `${JSON.stringify(presentContract(name), null, 2)}\n`);
}

function pathOf(name: DocumentName): string {
  return join(directory, `${name}.json`);
}

/** Returns the parts of a document that the comparison reads. */
function essentials({ paths, webhooks, components: { schemas, parameters } }: OpenApiDocument): Contract {
  const components = { schemas, parameters, headers: {}, securitySchemes: {} };
  return withoutWords({ paths, webhooks, components }) as Contract;
}

/** The keywords that are left out: the comparison does not need them. */
const WORDS = new Set(["description", "summary", "title", "example", "tags", "security"]);
/** Keywords whose members are named by the contract. A field named `description` is kept, although `WORDS` contains it. */
const NAMED = new Set(["properties", "schemas", "parameters", "paths", "webhooks", "headers", "responses"]);

/** Removes the texts. @param isNamed whether the members of `value` are named by the contract, not by OpenAPI */
function withoutWords(value: unknown, isNamed = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutWords(item));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).flatMap(([key, child]: [string, unknown]) => {
    if (isNamed) return [[key, withoutWords(child)]];
    if (key === "examples") return namesOnly(child);
    return WORDS.has(key) ? [] : [[key, withoutWords(child, NAMED.has(key))]];
  });
  return Object.fromEntries(kept) as unknown;
}

/** Keeps only the names of a response's examples: they are its error codes. A schema's examples are a list, and dropped. */
function namesOnly(examples: unknown): (readonly [string, unknown])[] {
  if (Array.isArray(examples) || typeof examples !== "object" || examples === null) return [];
  return [["examples", Object.fromEntries(Object.keys(examples).map((name) => [name, {}]))]];
}
