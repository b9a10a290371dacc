import type { Answer } from "./answer-description.ts";
import { answers } from "./answers.generated.ts";

/**
 * Compares an answer with the contract as this version of the package knows it. Fields and names that it does not know
 * are no fault: they are added within a version of the interface.
 *
 * @param operation the operation: `GET /v1/rides/:id`
 * @param body the answer's body, parsed
 * @returns what is wrong with it, naming the place but no value; undefined when nothing is
 * @example const client = new BikeShare({ baseUrl, apiKey, validate: checkAnswer });
 */
export function checkAnswer(operation: string, body: unknown): string | undefined {
  const answer = answers[operation];
  return answer && faultOf(body, answer, "");
}

function faultOf(value: unknown, answer: Answer, place: string): string | undefined {
  if (typeof answer === "string") return isPlain(value, answer) ? undefined : `${place} that is no ${answer}`;
  if ("orNull" in answer) return value === null ? undefined : faultOf(value, answer.orNull, place);
  if ("optional" in answer) return value === undefined ? undefined : faultOf(value, answer.optional, place);
  if ("list" in answer) {
    if (!Array.isArray(value)) return `${place} that is no list`;
    return firstFault(value.entries(), (index, item) => faultOf(item, answer.list, `${place}[${index}]`));
  }
  if (!isObject(value)) return `${place || "a body"} that is no object`;
  if ("fields" in answer) {
    const at = (name: string) => (place ? `${place}.${name}` : name);
    return firstFault(Object.entries(answer.fields), (name, field) => faultOf(value[name], field, at(name)));
  }
  const name = String(value[answer.by]);
  // Not what every object inherits: a name may be any text, `constructor` too.
  const kind = Object.hasOwn(answer.kinds, name) ? answer.kinds[name] : undefined;
  return kind && faultOf(value, kind, place);
}

function firstFault<Name, Part>(
  parts: Iterable<readonly [Name, Part]>,
  check: (name: Name, part: Part) => string | undefined,
): string | undefined {
  for (const [name, part] of parts) {
    const fault = check(name, part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isPlain(value: unknown, answer: Extract<Answer, string>): boolean {
  switch (answer) {
    case "text":
      return typeof value === "string";
    case "instant":
      return typeof value === "string" && /^\d{4}-.*Z$/.test(value) && !Number.isNaN(Date.parse(value));
    case "number":
      return Number.isFinite(value);
    case "whole number":
      return Number.isInteger(value);
    case "boolean":
      return typeof value === "boolean";
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
