import { expect, test } from "vitest";
import * as sdk from "../src/index.ts";
import { EXPORTS } from "./exports.ts";

test("the main entry exports exactly the documented names", () => {
  expect(Object.keys(sdk).sort()).toEqual(EXPORTS["@bikeshare/sdk"]);
});
