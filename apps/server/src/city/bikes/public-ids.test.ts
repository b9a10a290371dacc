import { operatorContract } from "@bikeshare/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../../../test/app.ts";
import { startPublicIdSweeper } from "./service.ts";

let app: TestApp;
let operator: string;
beforeAll(async () => {
  app = await startTestApp();
  operator = (await app.issue({ partnerId: null, scopes: [] })).key;
  await write("/bikes", { id: "red", lat: 1, lon: 2 });
});
afterAll(() => app.close());

const authorization = (key: string) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" });

async function write(path: string, item: object): Promise<void> {
  const response = await fetch(`${app.url}/operator/v1${path}`, {
    method: "POST",
    headers: authorization(operator),
    body: JSON.stringify({ items: [item] }),
  });
  expect(await response.json()).toMatchObject({ failed: 0 });
}

async function find(publicId: string, key = operator) {
  const url = `${app.url}/operator/v1/bikes?public_id=${encodeURIComponent(publicId)}`;
  const response = await fetch(url, { headers: authorization(key) });
  const body: unknown = await response.json();
  if (response.ok) operatorContract.bikes.find.responses[200].strict().parse(body);
  return { status: response.status, body };
}

async function publicIdNow(): Promise<string> {
  const [bike] = await app.db.query<{ public_id: string }>({ name: "", text: "select public_id from bikes" });
  return bike?.public_id ?? "";
}

async function ride(id: string): Promise<void> {
  await write("/rides/start", { id, bike_id: "red" });
  await write("/rides/end", { id, lat: 1, lon: 2 });
}

test("a public id finds its bike, and for 10 minutes after each ride that replaced it", async () => {
  const first = await publicIdNow();
  expect(await find(first)).toEqual({ status: 200, body: { id: "red", public_id: first, retired_at: null } });
  await ride("one");
  const second = await publicIdNow();
  const firstEnd = new Date(app.clock()).toISOString();
  app.clock.advance(5 * 60_000);
  await ride("two");
  expect(await find(await publicIdNow())).toMatchObject({ body: { id: "red", retired_at: null } });
  expect(await find(first)).toEqual({ status: 200, body: { id: "red", public_id: first, retired_at: firstEnd } });
  expect(await find(second)).toMatchObject({ status: 200, body: { id: "red" } });
  app.clock.advance(5 * 60_000 + 1);
  expect(await find(first)).toMatchObject({ status: 404, body: { error: "not_found" } });
  expect(await find(second)).toMatchObject({ status: 200 });
});

test("what finds no bike any more is deleted, and nothing else", async () => {
  const onError = (error: unknown) => {
    throw error;
  };
  const sweeper = startPublicIdSweeper({ ...app, systems: () => Promise.resolve([app.systemId]), onError });
  expect(await sweeper.runOnce()).toBe(1);
  app.clock.advance(10 * 60_000);
  expect(await sweeper.runOnce()).toBe(1);
  await sweeper.close();
  expect(await find(await publicIdNow())).toMatchObject({ status: 200 });
});

test("no partner finds a bike by its public id", async () => {
  const { key } = await app.issue({ rateLimit: 1000 });
  expect(await find(await publicIdNow(), key)).toMatchObject({ status: 403 });
});
