import { describe, expect, test } from "vitest";
import { toJsonSchema } from "./json-schema.ts";

describe("lifting a schema from OpenAPI 3.0", () => {
  test("turns nullable into a type, a value of the enum, or a choice", () => {
    expect(toJsonSchema({ type: "string", nullable: true }, "as-written")).toEqual({ type: ["string", "null"] });
    expect(toJsonSchema({ type: "string", enum: ["a"], nullable: true }, "as-written")).toEqual({
      type: ["string", "null"],
      enum: ["a", null],
    });
    expect(toJsonSchema({ allOf: [{ $ref: "#/x" }], nullable: true }, "as-written")).toEqual({
      anyOf: [{ $ref: "#/x" }, { type: "null" }],
    });
  });

  test("turns exclusive bounds into numbers", () => {
    expect(toJsonSchema({ minimum: 1, exclusiveMinimum: true }, "as-written")).toEqual({ exclusiveMinimum: 1 });
    expect(toJsonSchema({ maximum: 9, exclusiveMaximum: 9 }, "as-written")).toEqual({ exclusiveMaximum: 9 });
    expect(toJsonSchema({ minimum: 1, exclusiveMinimum: false }, "as-written")).toEqual({ minimum: 1 });
  });

  test("opens what we send and leaves closed what we are sent", () => {
    const closed = {
      type: "object",
      properties: { a: { type: "object", additionalProperties: false } },
      additionalProperties: false,
    };
    expect(toJsonSchema(closed, "as-written")).toEqual(closed);
    expect(toJsonSchema(closed, "allowed")).toEqual({ type: "object", properties: { a: { type: "object" } } });
  });

  test("lists the names that we send and lets others be, but leaves a single name alone", () => {
    const names = { type: "string", enum: ["a", "b"], description: "A name" };
    const open = { anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "string" }] };
    expect(toJsonSchema(names, "allowed")).toEqual({ description: "A name", ...open });
    expect(toJsonSchema({ ...names, nullable: true }, "allowed")).toEqual({
      anyOf: [{ description: "A name", ...open }, { type: "null" }],
    });
    expect(toJsonSchema(names, "as-written")).toEqual(names);
    expect(toJsonSchema({ type: "string", enum: ["a"] }, "allowed")).toEqual({ type: "string", enum: ["a"] });
  });

  test("does not take a property's name for a keyword", () => {
    const source = { properties: { nullable: { type: "string", nullable: true }, items: { type: "string" } } };
    expect(toJsonSchema(source, "as-written")).toEqual({
      properties: { nullable: { type: ["string", "null"] }, items: { type: "string" } },
    });
  });
});
