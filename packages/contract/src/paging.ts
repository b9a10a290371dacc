import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from "./limits.ts";
import { issueText } from "./messages.ts";
import { namedObject } from "./named-object.ts";
import { isPositiveInteger } from "./text-rules.ts";
import { givenOnce } from "./values.ts";

/** An integer ≥ 1 in a query string; anything above `cap` counts as `cap`. */
function positiveIntegerParam(cap: number) {
  return z
    .union([z.string(), z.number()], { errorMap: () => ({ message: givenOnce().invalid_type_error }) })
    .transform((value, ctx) => {
      const text = String(value);
      if (!isPositiveInteger(text)) {
        ctx.addIssue({ code: z.ZodIssueCode.custom, message: issueText("positiveInteger") });
        return z.NEVER;
      }
      return Math.min(Number(text), cap);
    });
}

/** Query parameters of every list. `page` and `cursor` exclude each other, which the server checks. */
export const pagingQuery = {
  page: extendApi(positiveIntegerParam(Number.MAX_SAFE_INTEGER).optional(), {
    // No `default`: the server would reject a client that sent it with `cursor`.
    description: "Numbered paging: which page to return, counting from 1, up to `total_pages`. Without it, the first.",
    type: "integer",
    minimum: 1,
  }),
  limit: extendApi(positiveIntegerParam(MAX_PAGE_SIZE).optional(), {
    description: `Items on a page. A larger number gives ${MAX_PAGE_SIZE} items; it is not refused.`,
    type: "integer",
    minimum: 1,
    default: DEFAULT_PAGE_SIZE,
  }),
  cursor: z
    .string(givenOnce())
    .optional()
    .describe("Cursor paging: `next_cursor` of the page before, copied unchanged. Never build or decode one."),
};

/**
 * The envelope of a list. A request with neither `page` nor `cursor` gets the first page with `page`, `total_pages` and
 * `next_cursor`. A request with `page` gets `page` and `total_pages`. A request with `cursor` gets `next_cursor`. The last
 * page has no `next_cursor`.
 */
export function listOf<Item extends z.ZodTypeAny>(item: Item, named: { title: string; description: string }) {
  return namedObject(named.title, named.description, {
    data: z.array(item).describe("One page of items"),
    page: z.number().int().min(1).optional().describe("Numbered paging: the current page, counting from 1"),
    total_pages: z.number().int().min(1).optional().describe("Numbered paging: the number of pages"),
    next_cursor: z
      .string()
      .min(1)
      .optional()
      .describe("Cursor paging: opaque marker of the next slice; absent when the list is finished"),
  });
}

/** The query parameter with which the changes of a list are followed from a checkpoint. */
export const changesQuery = {
  changes_since: z
    .string(givenOnce())
    .optional()
    .describe(
      "Everything that has changed since a checkpoint, in the order of the changes: the `checkpoint` of the last page before, " +
        "copied unchanged, with the same filters. Walked by cursor; nothing is left out, and what changed a moment ago may come " +
        "again. To begin, walk the list with `updated_since`. When changes may be missing, the answer is 410 `checkpoint_lost`",
    ),
};

/** The envelope of a list whose changes can be followed. */
export function followedListOf<Item extends z.ZodTypeAny>(item: Item, named: { title: string; description: string }) {
  return namedObject(named.title, named.description, {
    ...listOf(item, named).shape,
    checkpoint: checkpointField(
      "With `updated_since` or `changes_since`, by cursor, on the last page: what to send as `changes_since` for all that changes from here on",
    ),
  });
}

/** Returns the envelope's field for the next walk's checkpoint. */
export function checkpointField(description: string) {
  return z.string().min(1).optional().describe(description);
}

/** One page of a list, as JSON. */
export interface ListEnvelope<Item> {
  readonly data: readonly Item[];
  readonly page?: number;
  readonly total_pages?: number;
  readonly next_cursor?: string;
  readonly checkpoint?: string;
}
