import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type BikeFacts,
  reservationTransitions,
  rideTransitions,
  stationState,
  type StationState,
  viewOf,
} from "@bikeshare/rules";
import { describe, expect, it } from "vitest";
import { deliveryTransitions } from "./webhooks/model/delivery.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/states.md"), "utf8");

/** Returns the arrows of the diagram in a section, with their labels. */
function arrowsOf(section: string): { readonly from: string; readonly to: string; readonly label: string }[] {
  const [, diagram = ""] = new RegExp(`## ${section}\\n.*?\`\`\`mermaid\\n(.*?)\`\`\``, "s").exec(page) ?? [];
  return [...diagram.matchAll(/^ {2}(\S+) --> (\w+)(?:: (.*))?$/gm)].map(([, from = "", to = "", label = ""]) => ({
    from,
    to,
    label,
  }));
}

/** Returns the arrows of a section without labels and duplicates. */
function edgesOf(section: string): string[] {
  return [...new Set(arrowsOf(section).map(({ from, to }) => `${from} ${to}`))].sort();
}

/** Returns the moves in a table of transitions. */
function movesOf(table: Readonly<Record<string, Readonly<Record<string, string>>>>): string[] {
  return Object.entries(table).flatMap(([from, commands]) =>
    Object.entries(commands)
      .filter(([, to]) => to in table)
      .map(([command, to]) => `${from === "none" ? "[*]" : from} ${command} ${to}`),
  );
}

describe("the page on states", () => {
  it("shows the moves of rides, reservations and deliveries, and no other", () => {
    const shown = (section: string) => arrowsOf(section).map(({ from, to, label }) => `${from} ${label} ${to}`);
    expect(shown("Ride").sort()).toEqual(movesOf(rideTransitions).sort());
    const moves = ["[*] create active", ...movesOf(reservationTransitions)];
    expect(shown("Reservation").sort()).toEqual(moves.sort());
    const made = ["[*] create pending", "[*] create_held held"];
    expect(shown("Delivery").sort()).toEqual([...made, ...movesOf(deliveryTransitions)].sort());
  });

  it("shows the ways between a bike's states that rides, reservations and reports make", () => {
    const edges = new Set(["[*] available"]);
    for (const before of bikeFacts()) {
      for (const after of followers(before)) {
        const [from, to] = [viewOf(before).vehicle_state, viewOf(after).vehicle_state];
        if (from !== to) edges.add(`${from} ${to}`);
      }
    }
    expect(edgesOf("Bike")).toEqual([...edges].sort());
  });

  it("shows the ways between a station's states that its signs and the operator make", () => {
    expect(edgesOf("Station")).toEqual([...stationEdges()].sort());
  });
});

const nowhere = { reported_station_id: null, reported_lat: null, reported_lon: null };

/**
 * Returns all combinations of facts about a bike. `non_operational` stands for all states in which a bike cannot be ridden.
 */
function bikeFacts(): BikeFacts[] {
  const found = (facts: Pick<BikeFacts, "ride_id" | "reservation_id" | "reported_state">) => ({ ...nowhere, ...facts });
  return [
    found({ ride_id: null, reservation_id: null, reported_state: "available" }),
    found({ ride_id: null, reservation_id: "held", reported_state: "available" }),
    found({ ride_id: null, reservation_id: null, reported_state: "non_operational" }),
    found({ ride_id: "ride", reservation_id: null, reported_state: "available" }),
    found({ ride_id: "ride", reservation_id: null, reported_state: "non_operational" }),
  ];
}

/** Returns the facts about a bike after each possible command. */
function followers(bike: BikeFacts): BikeFacts[] {
  const broken = { ...bike, reported_state: "non_operational", reservation_id: null } as const;
  const repaired = { ...bike, reported_state: "available" } as const;
  if (bike.ride_id !== null) return [broken, repaired, { ...bike, ride_id: null }];
  if (bike.reported_state !== "available") return [repaired];
  const started = { ...bike, ride_id: "ride", reservation_id: null };
  return [broken, started, { ...bike, reservation_id: bike.reservation_id === null ? "held" : null }];
}

/** Returns every transition of a station, found by trying every combination of flags and every command in every state. */
function stationEdges(): Set<string> {
  const flags = [true, false];
  const signs = flags.flatMap((is_installed) =>
    flags.flatMap((is_renting) => [0, 2].map((absent_snapshots) => ({ is_installed, is_renting, absent_snapshots }))),
  );
  const edges = new Set<string>();
  const seen = new Map<string, { readonly state: StationState; readonly was_installed: boolean }>();
  const reach = (from: string, state: StationState, was_installed: boolean) => {
    if (from !== state.status) edges.add(`${from} ${state.status}`);
    const key = JSON.stringify([state, was_installed]);
    if (seen.has(key)) return;
    seen.set(key, { state, was_installed });
    for (const sign of signs) {
      const installed = was_installed || sign.is_installed;
      const now = { ...sign, is_returning: sign.is_renting, was_installed: installed };
      reach(state.status, stationState(state, now), installed);
      // `stations/online` forgets what the operator set before, so only the flags count. A removed station stays removed.
      if (state.status !== "removed") reach(state.status, stationState(undefined, now), installed);
    }
    if (state.status === "removed") return;
    reach(state.status, { status: "offline", offline_reason: "operator" }, was_installed);
    reach(state.status, { status: "removed", offline_reason: null }, was_installed);
  };
  for (const sign of signs) {
    const was_installed = sign.is_installed;
    reach("[*]", stationState(undefined, { ...sign, is_returning: sign.is_renting, was_installed }), was_installed);
  }
  return edges;
}
