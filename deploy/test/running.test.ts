import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isBuilt, type PackedServer, startPackedServer } from "./packed-server.ts";

describe.skipIf(!isBuilt)(`the published server${isBuilt ? "" : " (skipped: not built)"}`, () => {
  let server: PackedServer;
  beforeAll(async () => {
    server = await startPackedServer({});
  });
  afterAll(() => server.close());

  it("starts from its tarball alone: it has its schema, its PostgreSQL, its pages and a city that rides", async () => {
    const get = (path: string) =>
      fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${server.key}` } }).then((answer) =>
        answer.json(),
      );
    expect(await get("/v1/stations?limit=1")).toMatchObject({ data: [{ id: "station-001" }] });
    const page = await (await fetch(`${server.url}/dashboard`)).text();
    const [, script = ""] = /src="(\/dashboard\/[^"]+[.]js)"/.exec(page) ?? [];
    expect((await fetch(`${server.url}${script}`)).headers.get("content-type")).toMatch(/^text\/javascript/);
    await expect.poll(() => get("/v1/events?limit=1")).toMatchObject({ data: [expect.anything()] });
    expect(await get("/openapi.json")).toMatchObject({ openapi: "3.1.0" });
    expect(server.welcome).toContain("npx @bikeshare/server keys issue --operator");
    expect(server.welcome).not.toContain("pnpm");
  });
});
