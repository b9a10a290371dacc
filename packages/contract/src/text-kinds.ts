import { EXPORT_MONTH } from "./export-words.ts";
import { MAX_IDEMPOTENCY_KEY_LENGTH, MAX_IDENTIFIER_LENGTH, MAX_RIDER_REF_LENGTH } from "./limits.ts";
import { issueText } from "./messages.ts";
import {
  BOUNDING_BOX,
  isDay,
  isInstant,
  isPositiveInteger,
  readBoundingBox,
  isPathStep,
  isVisible,
} from "./text-rules.ts";

/* The rules for the texts of requests, by kind. The contract's schemas and the SDK's fake check texts by them. */

/** One rule that a text must meet. */
interface TextRule {
  /** Returns the issue with a text, as the end of a sentence that begins with the value's name; undefined when it is valid. */
  readonly issueOf: (text: string) => string | undefined;
  /** The part of the rule that JSON Schema can express. */
  readonly schema?: Readonly<Record<string, string | number>>;
}

function rule(test: (text: string) => boolean, issue: string, schema: TextRule["schema"] = {}): TextRule {
  return { issueOf: (text) => (test(text) ? undefined : issue), schema };
}

function matching(pattern: RegExp, issue: string): TextRule {
  return rule((text) => pattern.test(text), issue, { pattern: pattern.source });
}

function atMost(limit: number): TextRule {
  return rule((text) => text.length <= limit, issueText("tooLong", { limit }), { maxLength: limit });
}

const notEmpty = rule((text) => text !== "", issueText("empty"), { minLength: 1 });

/** The rules for texts in requests, by kind. Errors name every broken rule, in this order. */
export const textKinds = {
  /** An identifier in a query string or a path. NUL is rejected, because PostgreSQL accepts no text with a NUL. */
  identifier: [notEmpty, atMost(MAX_IDENTIFIER_LENGTH), rule((text) => !text.includes("\0"), issueText("nul"))],
  /** An identifier in a body, such as the operator's id of a station. */
  givenIdentifier: [
    notEmpty,
    atMost(MAX_IDENTIFIER_LENGTH),
    rule(isVisible, issueText("visible")),
    rule((text) => !isPathStep(text), issueText("pathStep")),
  ],
  /** A partner's own reference for a rider. */
  riderRef: [matching(/^[\x21-\x7e]*$/, issueText("visibleAscii")), notEmpty, atMost(MAX_RIDER_REF_LENGTH)],
  eventId: [atMost(MAX_IDENTIFIER_LENGTH), rule((text) => /^(event_\w+|now)$/.test(text), issueText("eventId"))],
  /** The header `Idempotency-Key`. Node joins two such headers with ", "; the rule allows no space, so it rejects them. */
  idempotencyKey: [
    matching(
      new RegExp(`^[\\x21-\\x7e]{1,${MAX_IDEMPOTENCY_KEY_LENGTH}}$`),
      issueText("visibleAsciiUpTo", { limit: MAX_IDEMPOTENCY_KEY_LENGTH }),
    ),
  ],
  /** An instant in a query string. */
  instant: [rule(isInstant, issueText("instantParameter"), { format: "date-time" })],
  /** An instant in a body. */
  givenInstant: [rule(isInstant, issueText("instant"), { format: "date-time" })],
  /** A day in a query string. */
  day: [rule(isDay, issueText("day"), { format: "date" })],
  /** A month, such as `2026-10`. */
  month: [matching(EXPORT_MONTH, issueText("month"))],
  boundingBox: [{ issueOf: boundingBoxIssue, schema: { pattern: BOUNDING_BOX.source } }],
  positiveInteger: [rule(isPositiveInteger, issueText("positiveInteger"))],
  /** No rule: only the list that is read can decrypt a cursor, and so tell whether it is valid. */
  cursor: [],
} as const satisfies Readonly<Record<string, readonly TextRule[]>>;

export type TextKind = keyof typeof textKinds;

/** Returns the issues with a text of a kind. */
export function textIssues(kind: TextKind, text: string): string[] {
  const rules: readonly TextRule[] = textKinds[kind];
  return rules.flatMap(({ issueOf }) => issueOf(text) ?? []);
}

/** Returns the JSON Schema of texts of a kind, as far as JSON Schema can express their rule. */
export function textSchema(kind: TextKind): Readonly<Record<string, string | number>> {
  const rules: readonly TextRule[] = textKinds[kind];
  return Object.assign({}, ...rules.map(({ schema }) => schema)) as Readonly<Record<string, string | number>>;
}

function boundingBoxIssue(text: string): string | undefined {
  const box = readBoundingBox(text);
  return typeof box === "string" ? box : undefined;
}
