import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { routesFile, routesText } from "../tools/routes.ts";

it("the route table is what `pnpm --filter @bikeshare/dashboard run generate` makes of the contract", () => {
  expect(readFileSync(routesFile, "utf8")).toBe(routesText());
});
