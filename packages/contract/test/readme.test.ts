import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { exampleRide } from "../src/openapi/example-resources.ts";
import { completedRides } from "./readme-example.ts";

const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(`${request.headers.authorization} ${request.url}`);
  const { searchParams } = new URL(request.url ?? "", "http://localhost");
  const answers: Record<string, { status: number; body: unknown }> = {
    "": { status: 200, body: { data: [exampleRide], page: 1, total_pages: 2, next_cursor: "c" } },
    c: { status: 200, body: { data: [{ ...exampleRide, id: "last" }] } },
  };
  const unauthorized = { status: 401, body: { error: "unauthorized", message: "The key is unknown." } };
  const known = request.headers.authorization === "Bearer good";
  const { status, body } = (known && answers[searchParams.get("cursor") ?? ""]) || unauthorized;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
});

afterEach(() => {
  server.close();
  server.closeAllConnections();
});

test("the README's example is the one that is compiled and run here", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const example = readFileSync(new URL("readme-example.ts", import.meta.url), "utf8");
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
});

test("the README's table names what its entries export", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const rows = [...readme.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = ""]) => cell);
  expect(rows.length).toBeGreaterThan(5);
  for (const row of rows) {
    const [, entry = "index"] = /`@bikeshare\/contract\/(\w+)`/.exec(row) ?? [];
    const [values = ""] = row.split(/the types?|from/, 1);
    const names = [...values.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const exported = (await import(`../src/${entry}.ts`)) as object;
    expect(Object.keys(exported)).toEqual(expect.arrayContaining(names));
  }
});

test("the README's example walks all pages by cursor, and fails with the service's words", async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rides = await read(completedRides(baseUrl, "good"));
  expect(rides.map(({ id }) => id)).toEqual([exampleRide.id, "last"]);
  expect(requests).toEqual([
    "Bearer good /v1/rides?status=completed&limit=200",
    "Bearer good /v1/rides?status=completed&limit=200&cursor=c",
  ]);
  await expect(read(completedRides(baseUrl, "bad"))).rejects.toThrow("401 unauthorized: The key is unknown.");
});

async function read<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
