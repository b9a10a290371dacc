import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { installApart } from "@bikeshare/test-kit";
import { describe, expect, it } from "vitest";
import { createOpenApiDocument } from "../src/openapi.ts";

const run = promisify(execFile);
const tsc = join(import.meta.dirname, "../../../node_modules/.bin/tsc");

/** Each generator: its program, how it makes a client of `document.json`, and how that client is called. */
const generators = {
  "openapi-typescript": {
    program: "openapi-typescript/bin/cli.js",
    arguments: ["document.json", "--output", "client.ts"],
    calls: `
      import createClient from "openapi-fetch";
      import type { components, paths } from "./client.ts";
      type Event = components["schemas"]["Event"];
      const client = createClient<paths>({ baseUrl: "https://bikes.example" });
      const page = (await client.GET("/v1/events", { params: { query: {} } })).data;
      export const held = client.POST("/v1/reservations", { body: { station_id: "market" } });`,
  },
  "hey-api": {
    program: "@hey-api/openapi-ts/bin/run.js",
    arguments: ["--input", "document.json", "--output", "client", "--silent"],
    calls: `
      import { type Event, eventsList, reservationsCreate } from "./client/index.ts";
      const page = (await eventsList({ query: {} })).data;
      export const held = reservationsCreate({ body: { station_id: "market" } });`,
  },
  orval: {
    program: "orval/dist/bin/orval.mjs",
    arguments: ["--input", "document.json", "--output", "client.ts", "--client", "fetch"],
    calls: `
      import { type Event, eventsList, reservationsCreate } from "./client.ts";
      const answer = await eventsList({});
      const page = answer.status === 200 ? answer.data : undefined;
      export const held = reservationsCreate({ station_id: "market" });`,
  },
};

/** What every program does with a page of events. */
const NARROWING = `
  export const values = page?.data.map(valueOf);
  function valueOf(event: Event): number | string | null {
    if (event.event === "ride.completed") return event.data.duration_seconds;
    if (event.event === "reservation.expired") return event.data.bike_id;
    return null;
  }`;
type Generator = keyof typeof generators;

/** The tried generators. The others are large; `pnpm --filter @bikeshare/contract run test:clients` tries all. */
const tried: readonly Generator[] =
  process.env["TEST_CLIENTS"] === "all" ? ["openapi-typescript", "hey-api", "orval"] : ["openapi-typescript"];

/** Makes a client, and compiles a program that uses it. @returns the compiler's errors */
async function compile(generator: Generator, document: object): Promise<string> {
  const definition = join(import.meta.dirname, "clients", generator);
  const modules = join(await installApart(definition), "node_modules");
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-client-"));
  try {
    await symlink(modules, join(directory, "node_modules"));
    const { program, arguments: given, calls } = generators[generator];
    await writeFile(join(directory, "document.json"), JSON.stringify(document));
    await writeFile(join(directory, "program.ts"), calls + NARROWING);
    await run(process.execPath, [join(modules, program), ...given], { cwd: directory });
    const options = ["--strict", "--noEmit", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler"];
    const libraries = ["--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--types", ""];
    const { stdout } = await run(tsc, [...options, ...libraries, "--allowImportingTsExtensions", "program.ts"], {
      cwd: directory,
    }).catch((error: unknown) => ({ stdout: String(Reflect.get(Object(error), "stdout")) }));
    return stdout;
  } finally {
    await rm(directory, { recursive: true });
  }
}

describe.each(tried)("a client that %s makes", (generator) => {
  const options = { baseUrl: "https://bikes.example", version: "1.2.3" };

  it("knows an event's type by its name, and may leave out what has a default", async () => {
    expect(await compile(generator, createOpenApiDocument(options))).toBe("");
  });

  it("would not, were it made from the document for validators", async () => {
    const document = createOpenApiDocument({ ...options, readers: "validators" });
    expect(await compile(generator, document)).toContain("error TS");
  });
});
