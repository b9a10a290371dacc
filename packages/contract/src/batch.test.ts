import { checkZodSchema, type ClientInferRequest, type ServerInferRequest } from "@ts-rest/core";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type BatchItem, batchOf, MAX_BATCH } from "./batch.ts";
import type { StationUpsert } from "./operator-items.ts";
import type { operatorContract } from "./operator.ts";

fc.configureGlobal({ seed: 1 });

const body = batchOf(z.object({ id: z.string(), count: z.number() }).strict(), "Things");
const goodItem = fc.record({ id: fc.string(), count: fc.integer() });
const wrongItem = fc.oneof(
  fc.constantFrom<unknown>(null, 1, "x", true, [], {}, { id: 1, count: 1 }),
  fc.record({ id: fc.string(), count: fc.string() }),
  fc.record({ id: fc.string(), count: fc.integer(), more: fc.boolean() }),
);

describe("a batch", () => {
  test("keeps every good item, reports every wrong one in its place, and refuses none as a whole", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(goodItem, wrongItem), { minLength: 1, maxLength: 40 }), (items: unknown[]) => {
        const result = checkZodSchema({ items }, body) as { success: true; data: { items: BatchItem<unknown>[] } };
        expect(result.success).toBe(true);
        expect(result.data.items).toHaveLength(items.length);
        for (const [index, read] of result.data.items.entries()) {
          const given = items[index];
          if ("item" in read) expect(read.item).toEqual(given);
          else {
            expect(read.issues.length).toBeGreaterThan(0);
            const id: unknown = Reflect.get(Object(given) as object, "id");
            expect(read.id).toBe(typeof id === "string" ? id : null);
          }
        }
      }),
    );
  });

  test("reports every invalid item", () => {
    fc.assert(
      fc.property(fc.array(goodItem), fc.array(wrongItem, { minLength: 1 }), (good, wrong) => {
        const { items } = body.parse({ items: [...good, ...wrong] as never[] });
        expect(items.map((item) => "issues" in item)).toEqual([...good.map(() => false), ...wrong.map(() => true)]);
      }),
    );
  });

  test("rejects a value that is not an array of items, and names the field", () => {
    const invalid = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.object());
    fc.assert(
      fc.property(invalid, (items) => {
        const result = checkZodSchema({ items }, body);
        expect(result.success).toBe(false);
        if (!result.success) expect(issuesOf(result.error)).toEqual(["items: must be an array of items"]);
      }),
    );
    expect(issuesOf(body.safeParse({}).error)).toEqual(["items: must be given: an array of items"]);
    for (const value of [undefined, null, [], "x", 1]) expect(body.safeParse(value).success).toBe(false);
  });

  test("holds 1 to the most items, and no field beside them", () => {
    const items = Array.from({ length: MAX_BATCH + 1 }, (_, index) => ({ id: String(index), count: index }));
    expect(issuesOf(body.safeParse({ items: [] }).error)).toEqual(["items: must contain at least one item"]);
    expect(issuesOf(body.safeParse({ items }).error)).toEqual([`items: must contain at most ${MAX_BATCH} items`]);
    expect(body.parse({ items: items.slice(1) }).items).toHaveLength(MAX_BATCH);
    expect(body.safeParse({ items: items.slice(1), more: 1 }).error?.issues).toEqual([
      expect.objectContaining({ code: "unrecognized_keys", keys: ["more"] }),
    ]);
  });

  test("is typed by its item for the caller, and by what was read for the server", () => {
    type Upsert = typeof operatorContract.stations.upsert;
    expectTypeOf<ClientInferRequest<Upsert>["body"]>().toEqualTypeOf<{ items: StationUpsert[] }>();
    expectTypeOf<ServerInferRequest<Upsert>["body"]["items"]>().toEqualTypeOf<BatchItem<StationUpsert>[]>();
    expectTypeOf<ServerInferRequest<Upsert>["headers"]["idempotency-key"]>().toEqualTypeOf<string | undefined>();
  });
});

function issuesOf(error: z.ZodError | undefined): string[] {
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}
