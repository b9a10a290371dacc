import type { VNode } from "preact";
import { expect, it } from "vitest";
import { ApiError, describeError } from "../../src/api/errors.ts";
import { lookUp } from "../../src/components/look-up.ts";
import { closedReason } from "../../src/components/map/availability.ts";
import { failureWords } from "../../src/pages/deliveries/words.ts";
import { EndpointStatus } from "../../src/pages/operator/partner-status.tsx";
import { FleetLink } from "../../src/pages/operator/ride-columns.tsx";

/** Names of what every object inherits. */
const inherited = ["constructor", "toString", "__proto__"];

it("a table has for a text what was put into it, and nothing that every object inherits", () => {
  expect(inherited.map((name) => lookUp({ name: 1 }, name))).toEqual([undefined, undefined, undefined]);
  expect(lookUp({ name: 0 }, "name")).toBe(0);
  expect(lookUp(JSON.parse('{ "__proto__": 1 }') as Record<string, number>, "__proto__")).toBe(1);
});

it.each(inherited)("%s as a code, a reason, a state or an id is shown like every unknown one", (text) => {
  const answer = { status: 400, code: text, requestId: undefined, retryAfterSeconds: undefined };
  expect(describeError(new ApiError("Refused.", answer)).title).toBe("The request failed");
  expect(closedReason({ status: "offline", offline_reason: text as "stale" })).toBeUndefined();
  expect(failureWords(text)).toBe(text.replaceAll("_", " "));
  expect((EndpointStatus({ status: text }).props as { readonly tone: string }).tone).toBe("neutral");
  const url = { link: (path: string) => path } as Parameters<typeof FleetLink>[0]["url"];
  const names = { stations: {}, bikes: {} };
  const links = (["stations", "bikes"] as const).map((of) => FleetLink({ of, id: text, names, url }));
  expect(links.map((link) => (link as VNode<{ children: unknown }>).props.children)).toEqual([text, text]);
});
