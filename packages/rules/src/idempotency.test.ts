import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "./idempotency.ts";

fc.configureGlobal({ seed: 1 });

/** Returns the value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
}

describe("the canonical form of a JSON value", () => {
  it("is the same in whatever order the members came, and says the same as the body", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json: unknown = JSON.parse(JSON.stringify(value));
        expect(canonicalJson(reversed(json))).toBe(canonicalJson(json));
        expect(JSON.parse(canonicalJson(json))).toEqual(json);
      }),
    );
  });

  it("tells apart what is not the same", () => {
    const bodies = [
      undefined,
      null,
      "",
      "null",
      0,
      "0",
      [],
      {},
      [1, 2],
      [2, 1],
      { a: 1 },
      { a: "1" },
      { a: null },
      { a: [] },
      { b: 1 },
      [["a", 1]],
    ];
    expect(new Set(bodies.map((body) => canonicalJson(body))).size).toBe(bodies.length);
  });

  it("is refused for a body that is nested so deeply that it would exhaust the stack", () => {
    const nested: unknown = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
    expect(() => canonicalJson(nested)).toThrow(expect.objectContaining({ code: "invalid_request" }));
  });
});
