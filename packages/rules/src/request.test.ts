import { expect, it } from "vitest";
import { isUtf8Charset, methodNotAllowed, queryEncodingError } from "./request.ts";

it("names the first parameter that is badly encoded, as it was sent", () => {
  expect(queryEncodingError("a=1&b=%20")).toBeUndefined();
  expect(queryEncodingError("a=1&b%zz=2&c=%")?.message).toContain("The parameter b%zz is not");
});

it.each([
  ["application/json", true],
  ["application/json; charset=utf-8", true],
  [`application/json;charset="UTF8"`, true],
  ["application/json; charset=latin1", false],
  [`application/json; charset=""`, false],
])("takes bodies of %s: %s", (contentType, isTaken) => {
  expect(isUtf8Charset(contentType)).toBe(isTaken);
});

it("a method that a path does not take is refused with those that it takes, in order", () => {
  const { code, headers } = methodNotAllowed("PUT", new Set(["HEAD", "GET"]));
  expect([code, headers]).toEqual(["method_not_allowed", { allow: "GET, HEAD" }]);
});
