import { extendApi, generateSchema } from "@anatine/zod-openapi";
import { z } from "zod";
import { errorBody } from "./errors.ts";
import { issueText } from "./messages.ts";
import { namedObject } from "./named-object.ts";

/** Items that one batch may hold. Too low: costs round trips. Too high: holds locks for too long. */
export const MAX_BATCH = 1000;

/** A parsed item of a batch: its content, or its issues. */
export type BatchItem<Item> =
  | { readonly item: Item }
  | { readonly id: string | null; readonly issues: readonly z.ZodIssue[] };

/**
 * Returns the schema of a batch's body, `{ items: […] }`. It parses each item alone and gives the item or its issues, so
 * that one invalid item does not reject the others. A body without such a list fails as a whole.
 */
export function batchOf<Item extends z.ZodTypeAny>(item: Item, title: string) {
  const items = z
    .array(z.unknown(), {
      required_error: issueText("itemsMissing"),
      invalid_type_error: issueText("itemsType"),
    })
    .min(1, issueText("itemsEmpty"))
    .max(MAX_BATCH, issueText("itemsTooMany", { limit: MAX_BATCH }))
    .transform((values) => values.map((value): BatchItem<z.output<Item>> => read(item, value)));
  // The OpenAPI documents show the schema of a valid item. The parser also accepts invalid items, even null, so that each
  // item gets a result of its own.
  const itemSchema = { ...(generateSchema(item) as object), nullable: false };
  const body = z.object({ items: extendApi(items, { items: itemSchema }) }).strict();
  // The type of the body also describes its items; at run time zod sees a list of unknown values.
  return extendApi(body as z.ZodType<z.output<typeof body>, z.ZodObjectDef, { items: z.input<Item>[] }>, { title });
}

function read<Item extends z.ZodTypeAny>(item: Item, value: unknown): BatchItem<z.output<Item>> {
  const parsed = item.safeParse(value);
  if (parsed.success) return { item: parsed.data as z.output<Item> };
  const id: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "id") : undefined;
  return { id: typeof id === "string" ? id : null, issues: parsed.error.issues };
}

/** The outcome of an item. */
export const batchOutcome = z.enum(["created", "updated", "unchanged", "failed"]);
export type BatchOutcome = z.infer<typeof batchOutcome>;

/** The result of one item of a batch. */
export const batchResult = namedObject(
  "BatchResult",
  "The result of an item of a batch. `error` says why the item failed; null when it did not fail.",
  {
    id: z.string().nullable().describe("The item's id; null when the item had none"),
    outcome: batchOutcome.describe(
      "`failed`: nothing was changed; `unchanged`: already stored like this, as when the same item is sent again",
    ),
    error: errorBody.nullable(),
    warning: z
      .string()
      .nullable()
      .describe("What was stored differently from the item, or needs your attention; null: nothing"),
  },
);
export type BatchResult = z.infer<typeof batchResult>;

/** The response to a batch: one result for each item, in the items' order. */
export const batchResults = namedObject("BatchResults", "The result of each item, in the order of the items.", {
  results: z.array(batchResult).describe("One result for each item, in the order of the items"),
  failed: z.number().int().min(0).describe("How many items failed"),
});
export type BatchResults = z.infer<typeof batchResults>;
