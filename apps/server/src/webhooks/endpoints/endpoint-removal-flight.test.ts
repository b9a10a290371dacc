import { afterEach, beforeEach, expect, it } from "vitest";
import { until } from "../../../test/until.ts";
import {
  type DispatchHarness,
  type HarnessEndpoint,
  openDispatchHarness,
} from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate, type Gate } from "../../../test/webhooks/far.ts";
import { removeEndpoint } from "./endpoint-removal.ts";

let harness: DispatchHarness;
let endpoint: HarnessEndpoint;
let gate: Gate;
beforeEach(async () => {
  harness = await openDispatchHarness();
  endpoint = await harness.endpoint();
  gate = createGate();
  harness.far.respond = (request) => gate.wait(request);
});
afterEach(async () => {
  harness.far.respond = () => answered(204);
  gate.open();
  await harness.close();
});

const states = async () => (await harness.deliveries(endpoint.id)).map(({ status }) => status).toSorted();

it("what is in flight when an endpoint is removed ends and is logged; the rest is held, and nothing more is sent", async () => {
  await harness.happen(30);
  const worker = harness.worker();
  await until(() => gate.waiting.length === 10);
  await removeEndpoint(harness, { systemId: harness.systemId, partnerId: endpoint.partnerId });
  harness.reload();
  // The worker has noticed the removal once it has held all deliveries that were not in flight.
  await until(async () => (await states()).filter((status) => status === "held").length === 20);
  const [first, second, ...others] = gate.waiting;
  if (first === undefined || second === undefined) throw new Error("ten were in flight");
  gate.answer(first, answered(500));
  gate.answer(second, answered(410));
  for (const request of others) gate.answer(request, answered(204));
  await harness.drained(endpoint.id);
  expect(await states()).toEqual([
    ...Array.from({ length: 22 }, () => "held"),
    ...Array.from({ length: 8 }, () => "succeeded"),
  ]);
  const logged = (await harness.attempts(endpoint.id)).map(({ status, request_headers: headers }) => [
    status,
    headers?.includes("Service-Signature"),
  ]);
  expect(logged).toHaveLength(10);
  expect(logged).toEqual(
    expect.arrayContaining([
      [500, true],
      [410, true],
      [204, true],
    ]),
  );
  expect(harness.far.received(endpoint.url)).toHaveLength(10);
  expect(worker.errors).toEqual([]);
});
