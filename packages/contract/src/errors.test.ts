import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorsPage, errorsPageFile } from "../tools/errors-page.ts";
import { errorCatalogue, errorCodes } from "./error-catalogue.ts";
import { errorBody } from "./errors.ts";

const page = existsSync(errorsPageFile) ? readFileSync(errorsPageFile, "utf8") : "";
const rewrite = "run `pnpm --filter @bikeshare/contract run docs`";

test("every error of the catalogue stands in docs/errors.md with its status, and no other does", () => {
  const documented = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => `${code} ${status}`);
  const inCatalogue = errorCodes.map((code) => `${code} ${errorCatalogue[code].status}`);
  expect(documented, rewrite).toEqual(inCatalogue);
});

test("docs/errors.md is what the catalogue makes of it, to the byte", () => {
  expect(page, rewrite).toBe(errorsPage());
});

test("an error body has exactly a code of the catalogue and a message", () => {
  for (const error of errorCodes) expect(errorBody.safeParse({ error, message: "m" }).success).toBe(true);
  expect(errorBody.safeParse({ error: "teapot", message: "m" }).success).toBe(false);
  expect(errorBody.safeParse({ error: "internal" }).success).toBe(false);
  expect(errorBody.safeParse({ error: "internal", message: "m", stack: "…" }).success).toBe(false);
});

test("every error says in whole sentences what happened and what to do", () => {
  for (const code of errorCodes) {
    expect(errorCatalogue[code].meaning, code).toMatch(/^[A-Z].*\.$/s);
    expect(errorCatalogue[code].action, code).toMatch(/^[A-Z].*\.$/s);
  }
});
