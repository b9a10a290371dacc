import { QueryClientProvider } from "@tanstack/preact-query";
import type { ComponentChild } from "preact";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Router } from "wouter-preact";
import { memoryLocation } from "wouter-preact/memory-location";
import { queries } from "../../src/api/api.ts";
import { SplitSide } from "../../src/layout/split-side.ts";
import { DeliveriesOverTime } from "../../src/pages/deliveries/over-time.tsx";
import { RequestsOverTime } from "../../src/pages/requests/requests-over-time.tsx";
import { renderIn } from "../fake-document.ts";

let asked: string[];

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  vi.stubGlobal("fetch", (address: string) => {
    asked.push(address.replace(/\?.*/, ""));
    // No answer comes: the test is about what is asked.
    return new Promise(() => {});
  });
});
afterEach(() => {
  queries.clear();
  vi.useRealTimers();
});

const params = { system_id: "main", partner_id: "partner_1" };
const scope = { systemId: "main", partnerId: undefined, isFirstSystem: true, canChange: true };
const charts: readonly (readonly [string, ComponentChild, string])[] = [
  [
    "deliveries",
    <DeliveriesOverTime target={{ params, query: {} }} filters={{}} onFilter={() => undefined} />,
    "/console/v1/systems/main/partners/partner_1/deliveries-over-time",
  ],
  ["requests", <RequestsOverTime scope={scope} keyId={undefined} />, "/console/v1/systems/main/usage/over-time"],
];

it.each(charts)(
  "the chart of %s is read where it is shown, and not for a list beside a row",
  async (_, chart, address) => {
    const { hook } = memoryLocation({ path: "/" });
    const show = async (side: "list" | undefined) => {
      const body = renderIn(
        <QueryClientProvider client={queries}>
          <Router hook={hook}>
            <SplitSide.Provider value={side}>{chart}</SplitSide.Provider>
          </Router>
        </QueryClientProvider>,
      );
      await vi.advanceTimersByTimeAsync(90_000);
      return body.textContent;
    };
    expect(await show("list")).toBe("");
    expect(asked).toEqual([]);
    expect(await show(undefined)).toContain("over time");
    expect(new Set(asked)).toEqual(new Set([address]));
  },
);
