import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Route } from "../src/core/request.ts";
import { routes } from "../src/routes.generated.ts";
import { endpoints } from "../src/testing/contract.generated.ts";
import { fakeContractFile, fakeContractText } from "../tools/fake-contract.ts";

test("what the fake knows of the interface is what the contract makes", () => {
  const advice = "run `pnpm --filter @bikeshare/sdk run generate`";
  expect(readFileSync(fakeContractFile, "utf8"), advice).toBe(fakeContractText());
});

test("the fake knows every endpoint of the partners", () => {
  const verbs: readonly Readonly<Record<string, Route>>[] = Object.values(routes);
  const all = verbs.flatMap((each) => Object.values(each)).map(([operation]) => operation);
  expect(new Set(Object.keys(endpoints))).toEqual(new Set(all));
});
