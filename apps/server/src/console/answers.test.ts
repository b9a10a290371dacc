import { initContract } from "@ts-rest/core";
import { expect, it } from "vitest";
import { z } from "zod";
import { answeringByContract } from "./answers.ts";

const bike = z.object({ id: z.string(), moved_at: z.string().datetime().nullable(), note: z.string().optional() });
const contract = initContract().router({
  bikes: {
    list: { method: "GET", path: "/bikes", responses: { 200: z.object({ data: z.array(bike) }) } },
    ready: { method: "GET", path: "/ready", responses: { 200: bike } },
    either: {
      method: "GET",
      path: "/either",
      responses: { 200: z.union([z.object({ needs_code: z.boolean() }), bike]) },
    },
    neither: {
      method: "GET",
      path: "/neither",
      responses: { 200: z.union([z.object({ needs_code: z.boolean() }), bike]) },
    },
  },
});

const moved = new Date(1_000);
const routes = answeringByContract(contract, {
  bikes: {
    list: () => {
      const rows = [
        { id: "a", moved_at: moved, secret: "of the table alone" },
        { id: "b", moved_at: null, note: "at the workshop" },
      ];
      return Promise.resolve({ status: 200, body: { data: rows, next: "of the service alone" } });
    },
    either: () => Promise.resolve({ status: 200, body: { id: "c", moved_at: null, secret: "of the table alone" } }),
    neither: () => Promise.resolve({ status: 200, body: { secret: "of the table alone" } as never }),
    ready: () => Promise.resolve({ status: 200, body: Buffer.from("{}") as never }),
  },
});

async function answerOf(name: keyof typeof contract.bikes): Promise<unknown> {
  const route = routes.bikes[name] as unknown as () => Promise<{ readonly body: unknown }>;
  return (await route()).body;
}

it("an answer has the fields that the contract lists, at every depth, and no others", async () => {
  expect(JSON.parse(JSON.stringify(await answerOf("list")))).toEqual({
    data: [
      { id: "a", moved_at: moved.toISOString() },
      { id: "b", moved_at: null, note: "at the workshop" },
    ],
  });
});

it("an answer of two forms has the fields of its own form", async () => {
  expect(await answerOf("either")).toEqual({ id: "c", moved_at: null });
});

it("an answer that has none of the contract's forms is not sent", async () => {
  await expect(answerOf("neither")).rejects.toThrow("none of the forms");
});

it("bytes that are ready to be sent are sent as they are", async () => {
  expect(await answerOf("ready")).toEqual(Buffer.from("{}"));
});

it("the fields of records, pairs and defaults are picked too, and a schema whose fields cannot be is refused at the start", async () => {
  const listing = (schema: z.ZodTypeAny) =>
    initContract().router({ all: { method: "GET", path: "/all", responses: { 200: schema } } });
  const answer = async (schema: z.ZodTypeAny, body: unknown): Promise<unknown> => {
    const all = () => Promise.resolve({ status: 200, body: body as never });
    const shaped = answeringByContract(listing(schema), { all } as never) as unknown as {
      all: () => Promise<{ body: unknown }>;
    };
    return (await shaped.all()).body;
  };
  const stored = { id: "a", moved_at: null, secret: "of the table alone" };
  const sent = { id: "a", moved_at: null };
  expect(await answer(z.record(bike), { first: stored })).toEqual({ first: sent });
  expect(await answer(z.tuple([z.string(), bike]), ["first", stored])).toEqual(["first", sent]);
  expect(await answer(z.object({ of: bike.default(sent) }), { of: stored })).toEqual({ of: sent });
  await expect(answer(z.map(z.string(), bike), new Map())).rejects.toThrow("have no shape for ZodMap");
});
