import { alertEnd, alertUpsert, batchOf } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import fc from "fast-check";
import { endAlerts, upsertAlerts } from "../../src/city/alerts/service.ts";
import { describe, removeDescription } from "../../src/city/descriptions/service.ts";
import { stationId, typeId } from "./every-state-values.ts";
import type { Step, StepSubject } from "./step.ts";

// Draws steps in which the operator sets and removes facts.

const planId = fc.constantFrom("day", "month");
const alertId = fc.constantFrom("a1", "a2");
const isAllowed = fc.boolean();
const square = [
  [10, 59],
  [11, 59],
  [11, 60],
  [10, 60],
  [10, 59],
];
const apps = { ios: { store_uri: "https://store.example", discovery_uri: "bikes://" } };
const links = (name: string) => ({ web: `https://bikes.example/{${name}}`, ios: `bikes://{${name}}` });

const plan = fc.record({
  ...{ name: fc.constantFrom("Day", "Æ"), currency: fc.constantFrom("EUR", "nok") },
  ...{ price: fc.constantFrom(0, 3.5), is_taxable: fc.boolean(), description: fc.constant("A plan") },
  per_min_pricing: fc.constantFrom(null, [{ start: 30, rate: 0.1, interval: 1 }]),
});

/** Returns the steps with facts. A step that the service refuses is not an error of the test. */
export function factSteps(subject: StepSubject): fc.Arbitrary<Step> {
  const acting = () => ({ ...subject.harness.live, actor: "test" });
  const step = <Input>(does: string, input: fc.Arbitrary<Input>, run: (input: Input) => Promise<unknown>) =>
    input.map((given): Step => ({
      does: `${does} ${fc.stringify(given)}`,
      run: () =>
        run(given).catch((error: unknown) => {
          if (!(error instanceof ServiceError)) throw error;
        }),
    }));
  const system = (facts: object) => describe(acting(), subject.systemId, "system", "", facts);
  return fc.oneof(
    step("describe plan", fc.tuple(planId, plan), ([id, facts]) =>
      describe(acting(), subject.systemId, "pricing_plan", id, facts),
    ),
    step("forget plan", planId, (id) => removeDescription(acting(), subject.systemId, "pricing_plan", id)),
    step("choose plan", fc.tuple(typeId, fc.option(planId)), ([id, default_pricing_plan_id]) =>
      describe(acting(), subject.systemId, "vehicle_type", id, { default_pricing_plan_id }),
    ),
    step("link", fc.boolean(), (isLinked) =>
      system(
        isLinked
          ? { rental_apps: apps, station_links: links("station_id"), vehicle_links: links("vehicle_id") }
          : { rental_apps: null, station_links: null, vehicle_links: null },
      ),
    ),
    step("open", fc.constantFrom(null, "24/7", "Mo-Fr 06:00-22:00", "Apr 1-Oct 31 00:00-24:00"), (opening_hours) =>
      system({ opening_hours }),
    ),
    step("draw zones", fc.tuple(isAllowed, isAllowed, fc.option(typeId)), ([start, end, type]) => {
      const rule = { ride_start_allowed: start, ride_end_allowed: end, ride_through_allowed: true };
      const rules = [{ ...rule, ...(type !== null && { vehicle_type_ids: [type] }) }];
      const geometry = { type: "MultiPolygon" as const, coordinates: [[square]] };
      const features = [{ type: "Feature" as const, geometry, properties: { rules } }];
      return describe(acting(), subject.systemId, "geofencing_zones", "", { features, global_rules: [rule] });
    }),
    step("forget zones", fc.constant(""), (id) =>
      removeDescription(acting(), subject.systemId, "geofencing_zones", id),
    ),
    step("alert", fc.tuple(alertId, fc.array(stationId, { maxLength: 2 })), ([id, station_ids]) => {
      const items = [{ id, type: "station_closure", summary: "Closed", station_ids: [...new Set(station_ids)] }];
      const body = batchOf(alertUpsert, "Items").parse({ items });
      return upsertAlerts(subject.harness.live, subject.systemId, body.items);
    }),
    step("end alert", alertId, (id) => {
      const body = batchOf(alertEnd, "Items").parse({ items: [{ id }] });
      return endAlerts(subject.harness.live, subject.systemId, body.items);
    }),
  );
}
