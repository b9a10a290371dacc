import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { city23, city3, CITY_TIME } from "../../../test/gbfs/city.ts";
import { createDocumentReader, type DocumentReaderLimits } from "./document-reader.ts";
import { readDocument } from "./documents.ts";
import { FeedFailure } from "./problems.ts";

function open(limits: DocumentReaderLimits = {}) {
  const reader = createDocumentReader(limits);
  onTestFinished(() => reader.release());
  return reader;
}

const bytesOf = (document: unknown) => Buffer.from(JSON.stringify(document));
const vehicles = (count: number) =>
  bytesOf({
    last_updated: CITY_TIME / 1000,
    data: {
      bikes: Array.from({ length: count }, (_, n) => ({
        bike_id: `b${n}`,
        lat: 59 + n / 1e6,
        lon: 10,
        is_reserved: false,
        is_disabled: n % 7 === 0,
      })),
    },
  });

test("reads on its thread what is read in this one: every kind of document, and records of more than one piece", async () => {
  const reader = open();
  for (const [name, document] of Object.entries({ ...city23(), ...city3("3.0") }) as [
    "station_status" | "vehicle_status",
    object,
  ][]) {
    const bytes = bytesOf(document);
    expect(await reader.read(name, bytes, CITY_TIME)).toEqual(readDocument(name, bytes, CITY_TIME));
  }
  const list = bytesOf({ data: { feeds: [{ name: "station_status", url: "s.json" }] } });
  expect((await reader.read("gbfs", list, CITY_TIME)).content).toEqual({
    feeds: new Map([["station_status", "s.json"]]),
    translations: new Map(),
  });
  const information = bytesOf({ last_updated: 1, data: { system_id: "city", name: "City" } });
  expect((await reader.read("system_information", information, CITY_TIME)).content).toMatchObject({
    publishedId: "city",
  });
  const many = vehicles(4_001);
  expect(await reader.read("free_bike_status", many, CITY_TIME)).toEqual(
    readDocument("free_bike_status", many, CITY_TIME),
  );
});

test("a feed of two hundred thousand empty records fails by name, while everything else goes on", async () => {
  const reader = open();
  const hostile = Buffer.from(`{"data":{"vehicles":[${"{},".repeat(200_000)}{}]}}`);
  const largest = Buffer.from(`{"data":{"vehicles":[${"{},".repeat(199_999)}{}]}}`);
  for (const [bytes, message] of [
    [hostile, "it has more than 200,000 records"],
    [largest, "none of its records can be used"],
  ] as const) {
    let isOver = false;
    let ticks = 0;
    const reading = reader.read("vehicle_status", bytes, CITY_TIME).finally(() => (isOver = true));
    const failed = expect(reading).rejects.toThrow(message);
    while (!isOver) {
      await setImmediate(); // a turn of the event loop
      ticks++;
    }
    await failed;
    // If this thread read the document, the event loop would turn only once meanwhile.
    expect(ticks).toBeGreaterThan(50);
  }
});

test("a document that takes too much memory or time ends its thread alone, and the next one is read", async () => {
  const tight = open({ heapMiB: 16 });
  await expect(tight.read("free_bike_status", vehicles(100_000), CITY_TIME)).rejects.toEqual(
    new FeedFailure("free_bike_status", "reading it takes too much memory"),
  );
  const small = await tight.read("free_bike_status", vehicles(3), CITY_TIME);
  expect(small.content.records.size).toBe(3);
  const hasty = open({ timeoutMs: 0 });
  await expect(hasty.read("free_bike_status", vehicles(3), CITY_TIME)).rejects.toThrow("reading it takes too long");
});

test("documents are read one after the other, also when they are given at once, and after a release", async () => {
  const reader = open();
  const both = [reader.read("free_bike_status", vehicles(3_000), CITY_TIME), reader.read("gbfs", bytesOf([]), 0)];
  const [first, second] = await Promise.allSettled(both);
  expect([first?.status, second?.status]).toEqual(["fulfilled", "rejected"]);
  await reader.release();
  expect((await reader.read("free_bike_status", vehicles(2), CITY_TIME)).content.records.size).toBe(2);
});
