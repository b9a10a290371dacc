import { issueText, unknownNames } from "@bikeshare/contract";
import { defaultErrorMap, type ZodIssue } from "zod";

/* Says in words what is wrong with a request's values, from the issues that zod reports. */

/**
 * The part of a request that an issue with an empty path is about: the query string, the headers, the body or an item of a
 * batch.
 */
export type Whole = "query" | "headers" | "body" | "item";

/** For each part: its name, the kind of its values, and where an unknown value is ("": its kind says that already). */
const wholes = {
  query: { name: "the query string", field: "parameter", where: "" },
  headers: { name: "the headers", field: "header", where: "" },
  body: { name: "the body", field: "field", where: " of the body" },
  item: { name: "the item", field: "field", where: " of the item" },
} as const;

/** The words for the types that zod names. */
const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "an integer",
  float: "a number with a fraction",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
};

/** Returns one sentence, without its full stop, that names the parameter, the error and the bound of each issue. */
export function describeIssues(issues: readonly ZodIssue[], whole: Whole): string {
  return issues.map((issue) => describeIssue(issue, whole)).join("; ");
}

function describeIssue(issue: ZodIssue, whole: Whole): string {
  const { name, field, where } = wholes[whole];
  const path = issue.path.join(".");
  if (issue.code === "unrecognized_keys") return unknownNames(issue.keys, field, path === "" ? where : ` of ${path}`);
  return `${path === "" ? name : path} ${issueWords(issue)}`;
}

/** Returns what is wrong with a value, as the end of a sentence that begins with the value's name. */
export function issueWords(issue: ZodIssue): string {
  return isOurs(issue) ? issue.message : reword(issue);
}

/**
 * Tells whether the contract has written an issue's message: it differs from zod's default. Such messages end a sentence
 * that begins with a name.
 */
function isOurs(issue: ZodIssue): boolean {
  return defaultErrorMap(issue, { data: undefined, defaultError: issue.message }).message !== issue.message;
}

/** Returns what is wrong in the contract's words instead of zod's. */
function reword(issue: ZodIssue): string {
  switch (issue.code) {
    case "invalid_type": {
      const expected = typeNames[issue.expected] ?? issue.expected;
      if (issue.received === "undefined") return issueText("missing");
      if (issue.received === "null") return issueText("null", { expected });
      return issueText("type", { expected, received: typeNames[issue.received] ?? issue.received });
    }
    case "invalid_enum_value":
      return issueText("enum", { values: issue.options.join(", ") });
    case "too_small":
      return issueText(issue.inclusive ? "atLeast" : "moreThan", { bound: boundOf(issue.type, issue.minimum) });
    case "too_big":
      return issueText(issue.inclusive ? "atMost" : "lessThan", { bound: boundOf(issue.type, issue.maximum) });
    case "invalid_literal":
      return valuesText(issue.received, [issue.expected]);
    case "invalid_union": {
      const alternatives = issue.unionErrors.flatMap(({ issues }) => issues);
      const literals = alternatives.filter((each) => each.code === "invalid_literal");
      if (literals.length === alternatives.length) {
        return valuesText(
          literals[0]?.received,
          literals.map(({ expected }) => expected),
        );
      }
      return otherwise(issue);
    }
    default:
      return otherwise(issue);
  }
}

/** Returns what is wrong with a value that is none of some literals. */
function valuesText(received: unknown, expected: readonly unknown[]): string {
  return received === undefined ? issueText("missing") : issueText("enum", { values: expected.join(", ") });
}

/**
 * Returns what is wrong in zod's words. Only the confirmation of a session, whose body has one of two forms, gives such an
 * issue, and the dashboard sends no wrong one.
 */
function otherwise(issue: ZodIssue): string {
  return `is invalid: ${issue.message}`;
}

/** Returns a bound with its unit. @param type the type of the value, as zod names it */
function boundOf(type: string, bound: number | bigint): string {
  const unit = { string: "character", array: "item" }[type];
  return unit === undefined ? String(bound) : `${bound} ${Number(bound) === 1 ? unit : `${unit}s`} long`;
}
