import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  jsonResponse,
  errorResponse,
  script,
  type Scripted,
  simulate,
  simulatedClient,
} from "../../test/simulation.ts";

fc.configureGlobal({ seed: 1 });

interface Item {
  readonly id: string;
}

/** Returns a client of a list that is served as the service does, by cursor and by page number. */
function serve(items: () => readonly Item[], failure: (request: number) => Response | undefined = () => undefined) {
  let requests = 0;
  const fetch = script(({ url }) => {
    const failed = failure(++requests);
    if (failed !== undefined) return failed;
    const all = items();
    const query = url.searchParams;
    const limit = Math.min(Number(query.get("limit") ?? 50), 200);
    const pages = Math.max(1, Math.ceil(all.length / limit));
    const page = Number(query.get("page") ?? 1);
    const cursor = query.get("cursor");
    // A cursor contains the last item's id, so items that are inserted above do not move it.
    const start = cursor === null ? (page - 1) * limit : all.findIndex(({ id }) => id === cursor) + 1;
    const data = all.slice(start, start + limit);
    const rest = start + limit < all.length && !query.has("page") ? { next_cursor: data.at(-1)!.id } : {};
    return jsonResponse({ data, ...(cursor === null ? { page, total_pages: pages } : {}), ...rest });
  });
  const simulation = simulate(fetch);
  return { fetch, simulation, client: simulatedClient(simulation, { maxRetries: 0 }) };
}

const some = (n: number): Item[] => Array.from({ length: n }, (_, i) => ({ id: `i${i}` }));

async function read<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const value of values) all.push(value);
  return all;
}

describe("a list", () => {
  it("sends nothing before it is awaited or iterated", () => {
    const { client, fetch } = serve(() => some(3));
    client.rides.list();
    expect(fetch.sent).toEqual([]);
  });

  it("awaited, is its first page as the service answered it, fetched once", async () => {
    const { client, fetch, simulation } = serve(() => some(60));
    const list = client.rides.list({ status: "completed" });
    const page = await simulation.run(list);
    expect(JSON.parse(JSON.stringify(page))).toEqual({ data: some(50), page: 1, total_pages: 2, next_cursor: "i49" });
    expect(await list).toBe(page);
    expect(Object.keys(await list.withResponse())).toEqual(["data", "response", "requestId", "attempts"]);
    expect(fetch.sent.map(({ url }) => url.search)).toEqual(["?status=completed"]);
  });

  it("leads from page to page, up to the last", async () => {
    const { client, simulation } = serve(() => some(7));
    const ids: string[] = [];
    const walk = async () => {
      for (let page = await client.rides.list({ limit: 3 }); ;) {
        ids.push(...page.data.map(({ id }) => id));
        if (!page.hasNextPage()) return;
        page = await page.getNextPage();
      }
    };
    await simulation.run(walk());
    expect(ids).toEqual(some(7).map(({ id }) => id));
    const first = await simulation.run(client.rides.list({ limit: 3 }));
    expect(await simulation.run(read(first.getNextPage()))).toEqual(some(7).slice(3));
    const only = await simulation.run(client.rides.list({ limit: 7 }));
    expect(() => only.getNextPage()).toThrow("there is no next page");
  });

  it("returns every item once, in order, whatever the page sizes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(450),
        fc.option(fc.integer({ min: 1, max: 250 })),
        fc.boolean(),
        async (n, limit, isNumbered) => {
          const { client, simulation } = serve(() => some(n));
          const list = client.rides.list({ ...(limit === null ? {} : { limit }), ...(isNumbered ? { page: 1 } : {}) });
          expect(await simulation.run(read(list))).toEqual(some(n));
          expect((await simulation.run(read(list.pages()))).flatMap(({ data }) => data)).toEqual(some(n));
        },
      ),
      { numRuns: randomRuns(20) },
    );
  });

  it("is iterated in pages as large as allowed, or of the given size", async () => {
    const { client, fetch, simulation } = serve(() => some(450));
    await simulation.run(read(client.rides.list()));
    expect(fetch.sent.splice(0).map(({ url }) => url.search)).toEqual([
      "?limit=200",
      "?cursor=i199&limit=200",
      "?cursor=i399&limit=200",
    ]);
    await simulation.run(read(client.rides.list({ limit: 300 })));
    expect(fetch.sent.splice(0).map(({ url }) => url.searchParams.get("limit"))).toEqual(["300", "300", "300"]);
  });

  it("with a page number is iterated by number, without changing the page size", async () => {
    const { client, fetch, simulation } = serve(() => some(120));
    expect(await simulation.run(read(client.rides.list({ page: 2 })))).toEqual(some(120).slice(50));
    expect(fetch.sent.map(({ url }) => url.search)).toEqual(["?page=2", "?page=3"]);
  });

  it("starts from the beginning with each loop", async () => {
    const { client, simulation } = serve(() => some(3));
    const list = client.rides.list();
    expect(await simulation.run(read(list))).toEqual(some(3));
    expect(await simulation.run(read(list))).toEqual(some(3));
  });

  it("as an array has at most `limit` items, and a checkpoint for the rest", async () => {
    const { client, simulation } = serve(() => some(250));
    const list = client.rides.list();
    expect(await simulation.run(list.toArray({ limit: 210 }))).toEqual(some(210));
    const rest = client.rides.list().resumeFrom(list.checkpoint()!);
    expect(await simulation.run(rest.toArray({ limit: Infinity }))).toEqual(some(250).slice(210));
    expect(rest.checkpoint()).toBeUndefined();
    await expect(list.toArray({ limit: 0 })).rejects.toMatchObject({ name: "UsageError" });
  });
});

describe("an iterator", () => {
  it("continues where it failed, and loses and repeats nothing", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 60 }),
        fc.array(fc.boolean(), { maxLength: 30 }),
        async (n, failures) => {
          const { client, simulation } = serve(
            () => some(n),
            (request) => (failures[request - 1] ? errorResponse(500, "internal") : undefined),
          );
          const walk = client.rides.list({ limit: 7 })[Symbol.asyncIterator]();
          const seen: Item[] = [];
          const go = async () => {
            for (;;) {
              try {
                for await (const item of walk) seen.push(item);
                return;
              } catch (error) {
                expect(error).toMatchObject({ name: "ServerError" });
              }
            }
          };
          await simulation.run(go());
          expect(seen).toEqual(some(n));
        },
      ),
      { numRuns: randomRuns(20) },
    );
  });

  it("continues in the next loop after a loop was left", async () => {
    const { client, simulation } = serve(() => some(10));
    const walk = client.rides.list({ limit: 3 })[Symbol.asyncIterator]();
    const firstFive = async () => {
      const items: Item[] = [];
      for await (const item of walk) if (items.push(item) === 5) break;
      return items;
    };
    expect(await simulation.run(firstFive())).toEqual(some(5));
    expect(await simulation.run(read(walk))).toEqual(some(10).slice(5));
  });

  it("accepts concurrent calls of next()", async () => {
    const { client, fetch, simulation } = serve(() => some(4));
    const walk = client.rides.list({ limit: 2 })[Symbol.asyncIterator]();
    const steps = await simulation.run(Promise.all(Array.from({ length: 5 }, () => walk.next())));
    expect(steps.map(({ value }) => (value as Item | undefined)?.id)).toEqual(["i0", "i1", "i2", "i3", undefined]);
    expect(fetch.sent).toHaveLength(2);
  });

  it("stops when its signal aborts, between pages and between items", async () => {
    const { client, fetch, simulation } = serve(() => some(100));
    const controller = new AbortController();
    const seen: Item[] = [];
    const walk = async () => {
      for await (const item of client.rides.list({ limit: 10 }, { signal: controller.signal })) {
        if (seen.push(item) === 15) controller.abort(new Error("enough"));
      }
    };
    await expect(simulation.run(walk())).rejects.toThrow("enough");
    expect(seen).toHaveLength(15);
    expect(fetch.sent).toHaveLength(2);
  });
});

describe("an iterator whose cursors repeat", () => {
  it("ends with an error within three times the length of the loop, wherever it begins", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 40 }), async (lead, length) => {
        const fetch = script(({ url }) => {
          const at = Number(url.searchParams.get("cursor") ?? 0);
          const next = at + 1 < lead + length ? at + 1 : Math.max(lead, 1);
          const first = at === 0 ? { page: 1, total_pages: 9 } : {};
          return jsonResponse({ data: [{ id: `i${at}` }], ...first, next_cursor: String(next) });
        });
        const simulation = simulate(fetch);
        const walk = read(simulatedClient(simulation).rides.list({ limit: 1 }));
        await expect(simulation.run(walk)).rejects.toMatchObject({
          name: "UnexpectedResponseError",
          message: "GET /v1/rides: unexpected response: wrong next_cursor",
        });
        expect(fetch.sent.length).toBeLessThanOrEqual(3 * (lead + length) + 2);
      }),
    );
  });
});

describe("a checkpoint", () => {
  it("continues after the last item returned, at any position, by cursor or number, in pages of any size", async () => {
    const sizes = fc.integer({ min: 1, max: 20 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        sizes,
        sizes,
        fc.boolean(),
        fc.nat(),
        async (n, limit, later, isNumbered, stop) => {
          const { client, simulation } = serve(() => some(n));
          const taken = 1 + (stop % n);
          const list = client.rides.list({ limit, ...(isNumbered ? { page: 1 } : {}) });
          const first = await simulation.run(list.toArray({ limit: taken }));
          const checkpoint = list.checkpoint();
          const following = client.rides.list({ limit: later });
          const rest = checkpoint && (await simulation.run(read(following.resumeFrom(checkpoint))));
          expect([...first, ...(rest || [])]).toEqual(some(n));
        },
      ),
    );
  });

  it("loses nothing when items are inserted before it and its own item is gone", async () => {
    let all: readonly Item[] = some(30);
    const { client, simulation } = serve(() => all);
    const list = client.rides.list({ limit: 10 });
    const first = await simulation.run(list.toArray({ limit: 15 }));
    all = [{ id: "new" }, ...some(30).filter(({ id }) => id !== "i14")];
    const rest = await simulation.run(read(client.rides.list({ limit: 10 }).resumeFrom(list.checkpoint()!)));
    const seen = new Set([...first, ...rest].map(({ id }) => id));
    for (const { id } of some(30)) expect(seen).toContain(id);
  });

  it("of an iteration by pages begins with the next page", async () => {
    const { client, simulation } = serve(() => some(30));
    const pages = client.rides.list({ limit: 10 }).pages();
    await simulation.run(pages.next());
    expect(await simulation.run(read(client.rides.list().resumeFrom(pages.checkpoint()!)))).toEqual(some(30).slice(10));
  });

  it("may be a page's own next_cursor", async () => {
    const { client, simulation } = serve(() => some(60));
    const page = await simulation.run(client.rides.list());
    expect(await simulation.run(read(client.rides.list().resumeFrom(page.next_cursor!)))).toEqual(some(60).slice(50));
  });

  it("exists before the first item and is undefined after the last", async () => {
    const { client, simulation } = serve(() => some(3));
    const list = client.rides.list();
    expect(await simulation.run(read(client.rides.list().resumeFrom(list.checkpoint()!)))).toEqual(some(3));
    await simulation.run(read(list));
    expect(list.checkpoint()).toBeUndefined();
  });

  it("is rejected when it is empty, so that a program does not start over for ever", () => {
    const { client } = serve(() => some(3));
    for (const nothing of ["", undefined, null]) {
      expect(() => client.rides.list().resumeFrom(nothing as string)).toThrow("is the list finished?");
    }
  });
});

it("the stack of an error in an iteration contains the caller's loop", async () => {
  async function loopOfThePartner(list: AsyncIterable<unknown>) {
    for await (const item of list) throw new Error(`got ${String(item)}`);
  }
  const simulation = simulate(script(errorResponse(403, "forbidden")));
  const list = simulatedClient(simulation).rides.list();
  const error = await simulation.run(loopOfThePartner(list).catch((thrown: unknown) => thrown));
  expect((error as Error).stack).toContain("loopOfThePartner");
});

describe("wrong usage", () => {
  it.each(['{"cursor":', "{", 7, {}])("rejects %j as a checkpoint", (checkpoint) => {
    const list = serve(() => some(3)).client.rides.list();
    expect(() => list.resumeFrom(checkpoint as string)).toThrow("the checkpoint is not valid");
  });

  it("rejects an array without a limit", async () => {
    const list = serve(() => some(3)).client.rides.list();
    await expect((list.toArray as () => Promise<unknown>)()).rejects.toMatchObject({
      name: "UsageError",
      message: "toArray needs a limit above 0",
    });
  });

  it.each([0, -1, Number.NaN])("rejects an array of at most %j items, and sends nothing", async (limit) => {
    const array = serve(() => some(3))
      .client.rides.list()
      .toArray({ limit });
    await expect(array).rejects.toMatchObject({ name: "UsageError", attempts: 0 });
  });
});

describe("a response that is not the requested page is an error, not the end of the list", () => {
  const item = { id: "i0" };
  const whole = { data: [item], page: 1, total_pages: 1 };
  const walkOf = (query: object, ...lines: readonly Scripted[]) => {
    const simulation = simulate(script(...lines));
    return simulation.run(read(simulatedClient(simulation).rides.list(query)));
  };

  it("unlike a complete one", async () => {
    expect(await walkOf({}, jsonResponse(whole))).toEqual([item]);
    expect(await walkOf({}, jsonResponse({ ...whole, next_cursor: "" }))).toEqual([item]);
    expect(await walkOf({ cursor: "c" }, jsonResponse({ data: [] }))).toEqual([]);
  });

  it.each<[string, object, unknown]>([
    ["without data", {}, { page: 1, total_pages: 1 }],
    ["with data that is not an array", {}, { ...whole, data: {} }],
    ["without page", {}, { data: [item], total_pages: 1 }],
    ["without total_pages", {}, { data: [item], page: 1 }],
    ["with more pages and no cursor", {}, { ...whole, total_pages: 2 }],
    ["with another page than requested", { page: 2 }, { ...whole, total_pages: 3 }],
    ["with fewer pages than its own number", { page: 2 }, { ...whole, page: 2, total_pages: 1 }],
    ["with a cursor that is not a string", { cursor: "c" }, { data: [item], next_cursor: null }],
    ["with the cursor that led to it", { cursor: "c" }, { data: [item], next_cursor: "c" }],
    ["that is a bare array", {}, [item]],
    ["that is null", {}, null],
  ])("%s", async (_, query, body) => {
    await expect(walkOf(query, jsonResponse(body))).rejects.toMatchObject({
      name: "UnexpectedResponseError",
      attempts: 1,
    });
  });

  it("continues after an empty page in the middle", async () => {
    const pages = [
      jsonResponse({ data: [], page: 1, total_pages: 2, next_cursor: "c" }),
      jsonResponse({ data: [item] }),
    ];
    expect(await walkOf({}, ...pages)).toEqual([item]);
  });
});
