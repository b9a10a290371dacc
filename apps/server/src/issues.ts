import { defaultErrorMap, type ZodIssue } from "zod";

/** What was read where the path of an issue is empty: the query string, the headers, the body or an item of a batch. */
export type Whole = "query" | "headers" | "body" | "item";

/** Names each issue's parameter, what is wrong with it and its bound, in one sentence. */
export function describeIssues(issues: readonly ZodIssue[], whole: Whole): string {
  return `${issues.map((issue) => describeIssue(issue, whole)).join("; ")}.`;
}

function describeIssue(issue: ZodIssue, whole: Whole): string {
  const name = issue.path.length === 0 ? wholes[whole].name : issue.path.join(".");
  switch (issue.code) {
    case "unrecognized_keys":
      return `${issue.keys.join(", ")} ${issue.keys.length === 1 ? "is no" : "are no"} ${fieldWord(issue, whole)}`;
    case "invalid_enum_value":
      return `${name} must be one of ${issue.options.join(", ")}`;
    default:
      return `${name} ${isOurs(issue) ? issue.message : reword(issue)}`;
  }
}

const wholes = {
  query: { name: "the query string", field: "parameter", owner: "of this endpoint" },
  headers: { name: "the headers", field: "header", owner: "of this endpoint" },
  body: { name: "the body", field: "field", owner: "of the body" },
  item: { name: "the item", field: "field", owner: "of an item" },
} as const;

function fieldWord({ keys, path }: ZodIssue & { readonly code: "unrecognized_keys" }, whole: Whole): string {
  const { field, owner } = wholes[whole];
  return `${field}${keys.length === 1 ? "" : "s"} ${path.length === 0 ? owner : `of ${path.join(".")}`}`;
}

/** Whether the contract wrote the message itself: its own end the sentence that the parameter's name begins. */
function isOurs(issue: ZodIssue): boolean {
  return defaultErrorMap(issue, { data: undefined, defaultError: issue.message }).message !== issue.message;
}

function reword(issue: ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.received === "undefined") return "must be given";
      if (issue.received === "null")
        return `must not be null: it must be ${typeNames[issue.expected] ?? issue.expected}`;
      return `must be ${typeNames[issue.expected] ?? issue.expected}, not ${typeNames[issue.received] ?? issue.received}`;
    case "too_small":
      return `must be ${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${unitOf(issue.type)}`;
    case "too_big":
      return `must be ${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unitOf(issue.type)}`;
    default:
      // Codes that no schema of the contract gives at present: better zod's word than none.
      return `is wrong: ${issue.message}`;
  }
}

function unitOf(type: string): string {
  if (type === "string") return " characters long";
  return type === "array" ? " items long" : "";
}

/** zod's names of types, in JSON's words. */
const typeNames: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  float: "a number with decimals",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};
