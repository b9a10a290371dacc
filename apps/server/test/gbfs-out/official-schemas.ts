import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../../shared/data");
const schemas = join(shared, "gbfs-json-schema");

/**
 * Whether the official schemas exist on this machine. `unlessHere` is added to the titles of tests that are skipped without
 * them.
 */
export const schemasAreHere = existsSync(schemas);
export const unlessHere = schemasAreHere ? "" : " (skipped: the official schemas are not here)";

const validators = new Map<string, ValidateFunction>();

/** Returns the violations of the official schema of a feed in a document. */
export function schemaErrors(version: string, feed: string, document: unknown): unknown[] {
  const path = join(schemas, `v${version}`, `${feed}.json`);
  const validate = validators.get(path) ?? compile(path);
  validators.set(path, validate);
  return validate(document) ? [] : (validate.errors ?? []);
}

function compile(path: string): ValidateFunction {
  return compileSchema(JSON.parse(readFileSync(path, "utf8")) as object);
}

export function compileSchema(schema: object): ValidateFunction {
  // Not strict, because the schemas have keywords of another program. A new instance for each schema, because several have
  // the same `$id`.
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  return ajv.compile(schema);
}

/** Returns the official schema of a feed; undefined if none exists. */
export function officialSchema(version: string, feed: string): object | undefined {
  const path = join(schemas, `v${version}`, `${feed}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as object) : undefined;
}

/** Returns the path of a directory of shared data, such as real feeds or schemas. */
export function sharedFolder(...path: string[]): string {
  return join(shared, ...path);
}
