import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { makeKey } from "../partners/keys/key.rules.ts";
import { keysIn, keysInUrl } from "./authenticate.ts";

const key = makeKey("live", randomBytes);
/** What may come before a key in a URL, with invalid percent-encoding too. */
const BEFORE = ["/v1/rides?key=", "/", "/nothing/%20%zz%", "/%C3%A9?x="];

it("a key is found in a URL whatever of it is percent-encoded, however often proxies encode it", () => {
  const encodings = fc.array(fc.constantFrom("plain", "upper", "lower"), {
    minLength: key.length,
    maxLength: key.length,
  });
  fc.assert(
    fc.property(encodings, fc.constantFrom(...BEFORE), fc.nat({ max: 4 }), (ways, before, times) => {
      const written = key.split("").map((character, index) => {
        const code = character.charCodeAt(0).toString(16);
        return ways[index] === "plain" ? character : `%${ways[index] === "upper" ? code.toUpperCase() : code}`;
      });
      const url = Array.from({ length: times }).reduce<string>(encodeURIComponent, written.join(""));
      expect(keysInUrl(before + url)).toEqual([key]);
    }),
  );
});

it("finds at most three keys in a string, each once", () => {
  const keys = Array.from({ length: 5 }, () => makeKey("test", randomBytes));
  expect(keysIn([key, key, ...keys].join("&"))).toEqual([key, ...keys.slice(0, 2)]);
  expect(keysIn("bss_live_" + "0".repeat(40))).toEqual([]);
});
