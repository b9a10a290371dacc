import { afterAll, beforeAll, expect, it } from "vitest";
import { buildAnother, type BuiltApp } from "../../test/built-app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { until } from "../../test/until.ts";
import { type EndpointsHarness, openEndpointsHarness } from "../../test/webhooks/endpoints.harness.ts";
import { removeEndpoint } from "../webhooks/endpoints/endpoint-removal.ts";
import { addEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";

let harness: EndpointsHarness;
let app: BuiltApp;
let endpointId: string;
let viewer: SignedIn;
beforeAll(async () => {
  harness = await openEndpointsHarness();
  app = await buildAnother(harness);
  endpointId = (await harness.endpoint()).endpoint.id;
  viewer = await signIn({ ...harness, url: app.url }, { partnerId: harness.partnerId, role: "viewer" });
});
afterAll(async () => {
  await app.close();
  await harness.close();
});

const path = (partnerId = harness.partnerId) =>
  `/console/v1/systems/${harness.systemId}/partners/${partnerId}/live?topic=deliveries`;

/** Reads a stream until its text contains `words`. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, words: string): Promise<string> {
  let text = "";
  while (!text.includes(words)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended after ${text}`);
    text += new TextDecoder().decode(value);
  }
  return text;
}

it("tells an open page which deliveries are new and which have changed", async () => {
  await harness.happen(1);
  const response = await fetch(app.url + path(), { headers: viewer.headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("there is no stream");
  expect(await readUntil(reader, "retry")).toContain("retry: 2000");
  const sent: string[] = [];
  let text: string | undefined;
  const arriving = readUntil(reader, "\n\n").then((read) => (text = read));
  // The first query finds what is there already. Only what happens afterwards is a change that the stream reports.
  await until(async () => {
    await harness.happen(1);
    sent.push(...(await harness.send(endpointId)).map(({ delivery_id: id }) => id));
    return text !== undefined;
  });
  await arriving;
  expect(text).toContain("event: deliveries\n");
  expect(sent.some((id) => text?.includes(id))).toBe(true);
  await reader.cancel();
});

it("tells of all of a partner's webhooks where none is named, also of a removed one", async () => {
  const { systemId } = harness;
  const partnerId = await harness.partner("Several");
  const added = { systemId, partnerId, url: "https://two.example/", events: ["ride.started"] };
  const first = await addEndpoint(harness, { ...added, name: "First" });
  const second = await addEndpoint(harness, { ...added, name: "Second" });
  await removeEndpoint(harness, { systemId, partnerId, endpointRef: "First" });
  const { headers } = await signIn({ ...harness, url: app.url }, { partnerId });
  const reader = (await fetch(app.url + path(partnerId), { headers })).body?.getReader();
  if (reader === undefined) throw new Error("there is no stream");
  await readUntil(reader, "retry");
  const ids = { [first.endpoint.id]: "delivery_of_first", [second.endpoint.id]: "delivery_of_second" };
  for (const [of, id] of Object.entries(ids))
    await harness.rows(
      `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status)
       values ($1, ($4::timestamptz)::date, $3, $2, $3, 'ride.started', $4, 'held')`,
      of,
      id,
      new Date(harness.clock()),
    );
  let text: string | undefined;
  const told = readUntil(reader, "\n\n").then((read) => (text = read));
  // The first query finds what is there already. Only what happens afterwards is a change that the stream reports.
  await until(async () => {
    await harness.rows(
      "update webhook_deliveries set attempts = 1 - attempts where system_id = $1 and id = any($2::text[])",
      [...Object.values(ids)],
    );
    return text !== undefined;
  });
  await told;
  for (const id of Object.values(ids)) expect(text).toContain(id);
  await reader.cancel();
});

it("is for the partner's people alone", async () => {
  const other = await signIn({ ...harness, url: app.url }, { partnerId: await harness.partner("Other") });
  expect((await other.call("GET", path())).status).toBe(404);
  expect((await fetch(app.url + path())).status).toBe(401);
  expect((await viewer.call("GET", path().replace("deliveries", "everything"))).status).toBe(400);
});

it("ends with the process, which does not wait for open pages", async () => {
  const another = await buildAnother(harness);
  const { headers } = await signIn({ ...harness, url: another.url }, { partnerId: harness.partnerId });
  const response = await fetch(another.url + path(), { headers });
  const ended = response.text();
  await another.close();
  expect(await ended).toContain("retry");
});
