import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";

const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../../shared/data");
const directory = join(shared, "mds-2.0/bundled-micromobility");

/** Whether the official MDS schemas exist on this machine. */
export const hasOfficialSchemas = existsSync(directory);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

/**
 * Expects a document to be valid by the official MDS schema, if the schemas exist on this machine. @param name such as
 * `get-vehicles`
 */
export function expectOfficial(name: string, document: unknown): void {
  if (!hasOfficialSchemas) return;
  const id = `mds-2.0:${name}`;
  const validate =
    ajv.getSchema(id) ?? ajv.compile(JSON.parse(readFileSync(join(directory, `${name}.json`), "utf8")) as object);
  const isValid = validate(document) as boolean;
  expect(isValid ? [] : validate.errors).toEqual([]);
}
