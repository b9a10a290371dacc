import { expect, it } from "vitest";
import { createPlaces } from "./places.ts";

it("as many places are taken at once as one reader may have, and as there are in all, and one that is given back is free again", () => {
  const places = createPlaces({ ofReader: 2, inAll: 3, refuse: (limit) => new Error(`all ${limit}`) as never });
  const [first] = [places.take("a"), places.take("a")];
  expect(() => places.take("a")).toThrow("all 2");
  places.take("b");
  expect(() => places.take("c")).toThrow("all 3");
  first?.();
  places.take("c");
  expect(() => places.take("a")).toThrow("all 3");
});
