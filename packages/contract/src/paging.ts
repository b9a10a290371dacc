import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from "./limits.ts";
import { issueText } from "./messages.ts";
import { namedObject } from "./named-object.ts";
import { isPositiveInteger } from "./text-rules.ts";
import { givenOnce } from "./values.ts";

/**
 * An integer ≥ 1 in a query string; anything above `cap` counts as `cap`. Programs that build requests from the contract may
 * give it as a number. Anything else is an array, because the parameter was given more than once.
 */
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

/** Query parameters of the lists with page numbers. `page` and `cursor` exclude each other, which the server checks. */
export const pagingQuery = {
  page: extendApi(positiveIntegerParam(Number.MAX_SAFE_INTEGER).optional(), {
    // No `default`: the server would reject a client that sent it with `cursor`.
    description: "Numbered paging: which page to return, counting from 1, up to `total_pages`. Default: the first.",
    type: "integer",
    minimum: 1,
  }),
  limit: extendApi(positiveIntegerParam(MAX_PAGE_SIZE).optional(), {
    description: `Items on a page, at most ${MAX_PAGE_SIZE}. A larger number is accepted and gives ${MAX_PAGE_SIZE} items.`,
    type: "integer",
    minimum: 1,
    default: DEFAULT_PAGE_SIZE,
  }),
  cursor: z
    .string(givenOnce())
    .optional()
    .describe("Cursor paging: `next_cursor` of the previous page, copied unchanged. Never build or decode a cursor."),
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
      .describe("Cursor paging: opaque cursor of the next page; absent on the last page"),
  });
}

/**
 * The query parameter with which the changes of a list are followed from a checkpoint: a text that a client saves after it
 * has read the list, to read later only what has changed since.
 */
export const changesQuery = {
  changes_since: z
    .string(givenOnce())
    .optional()
    .describe(
      "Only items that have changed since this checkpoint, in the order of the changes. Send your last `checkpoint` " +
        "unchanged, with the same filters, and follow `next_cursor`. No change is left out; what changed a moment ago " +
        "may come again. To begin, read the list with `updated_since`. When changes may be missing, the answer is 410 " +
        "`checkpoint_lost`",
    ),
};

/** The envelope of a list whose changes can be followed. */
export function followedListOf<Item extends z.ZodTypeAny>(item: Item, named: { title: string; description: string }) {
  return namedObject(named.title, named.description, {
    ...listOf(item, named).shape,
    checkpoint: checkpointField(
      "On the last page, when reading by cursor with `updated_since` or `changes_since`: send it as `changes_since` to get all later changes",
    ),
  });
}

/** Returns the envelope's field with the checkpoint for the next time. */
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
