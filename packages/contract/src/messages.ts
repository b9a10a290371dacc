// The texts of errors. This file does not import zod: the SDK's fake, which also runs in browsers, uses these texts too.
import { errorCatalogue, type ErrorCode } from "./error-catalogue.ts";
import { errorMessages } from "./error-messages.ts";

/** The placeholders of a template. */
type Placeholder<Template> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholder<Rest>
  : never;

/** The name of one of several templates, and its values where it has placeholders. */
export type TemplateArguments<Templates> = {
  [Name in keyof Templates]: [Placeholder<Templates[Name]>] extends [never]
    ? [name: Name, values?: Readonly<Record<never, never>>]
    : [name: Name, values: Readonly<Record<Placeholder<Templates[Name]>, string | number>>];
}[keyof Templates];

/**
 * The name of a code's message and its values; nothing for a code with one message. The condition `extends ErrorCode` is
 * always met. It makes TypeScript treat each code of a union by itself.
 */
export type MessageArguments<Code extends ErrorCode> = Code extends ErrorCode
  ? Code extends keyof typeof errorMessages
    ? TemplateArguments<(typeof errorMessages)[Code]>
    : [name?: "default", values?: Readonly<Record<never, never>>]
  : never;

/** An error of the catalogue: its code, the name of its message, and the message's values. */
export type ErrorArguments<Code extends ErrorCode> = Code extends ErrorCode
  ? [code: Code, ...message: MessageArguments<Code>]
  : never;

/** Returns an error's message. For a code without entries in `errorMessages` this is the code's meaning and action. */
export function errorMessage<Code extends ErrorCode>(code: Code, ...[name, values]: MessageArguments<Code>): string {
  const { meaning, action } = errorCatalogue[code];
  const messages: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = errorMessages;
  const template = messages[code]?.[String(name)] ?? `${meaning} ${action}`.replaceAll("`", "");
  return fillTemplate(template, values);
}

/** Issues with a value, each as the end of a sentence that begins with the value's name. */
export const issueTexts = {
  missing: "must be given",
  repeated: "must be given once",
  type: "must be {expected}, not {received}",
  null: "must not be null: it must be {expected}",
  enum: "must be one of {values}",
  integer: "must be an integer",
  month: "must be a month such as 2026-10",
  utcHour: "must be an hour in UTC such as 2026-10-31T08",
  positiveInteger: "must be an integer, 1 or more",
  integerRange: "must be an integer from {minimum} to {maximum}",
  range: "must be between {minimum} and {maximum}",
  atLeast: "must be at least {bound}",
  moreThan: "must be more than {bound}",
  atMost: "must be at most {bound}",
  lessThan: "must be less than {bound}",
  empty: "must not be empty",
  tooLong: "must have at most {limit} characters",
  nul: "must not contain a NUL character",
  visible: "must be visible characters, without control characters or spaces at the ends",
  visibleAscii: "must be visible ASCII characters, without spaces",
  visibleAsciiUpTo: "must be 1 to {limit} visible ASCII characters, without spaces",
  partnerPage: "must be the end of a partner's page's address, such as overview or deliveries?status=failed",
  oneLine: "must be one line without control characters or spaces at the ends",
  plainName: "must be one line without control characters, characters that reorder text, or spaces at the ends",
  pathStep: "must not be . or .., which no path can name",
  eventId: "must be the id of an event, such as event_0VbeWjMMvbE2baG4Sgk6By, or now",
  instant: "must be an RFC 3339 instant such as 2026-01-31T08:00:00Z",
  instantParameter: "must be an RFC 3339 instant such as 2026-01-31T08:00:00Z (write the + of an offset as %2B)",
  day: "must be a day such as 2026-01-31",
  email: "must be a mail address, such as name@example.com",
  dashboardPage: "must be the path of a page of the dashboard, such as /account",
  boundingBox: "must be four numbers, min_lon,min_lat,max_lon,max_lat, in WGS 84 degrees",
  boundingBoxDegrees: "must have a {part} between -{bound} and {bound}, not {value}",
  boundingBoxOrder: "must have a min_lat that is not above its max_lat: {south} is above {north}",
  itemsMissing: "must be given: an array of items",
  itemsType: "must be an array of items",
  itemsEmpty: "must contain at least one item",
  itemsTooMany: "must contain at most {limit} items",
  givenWith: "must be given with {field}",
  noReason: "must be left out: agencies know no reasons of {state}",
  currency: "must be an ISO 4217 code such as NOK",
  notBefore: "must not be before {field}",
  language: "must be a language such as nb, and a country where there is one: en-GB",
  webAddress: "must be a web address, such as https://example.com/works",
  text: "must be a string, or an array of objects with text and language",
  repeatedLanguage: "must have each language once",
  httpCode: "must be an HTTP code such as 503, or a class of codes such as 5xx",
  idsOrFilters: "or filters must be given, and not both",
  oneFilter: "only one of bike_id, ride_id, partner_id and status may be given",
  stationOrBike: "or bike_id must be given",
  stationAndBike: "and bike_id exclude each other: give one of them",
} as const;

/** Returns an issue with a value, as the end of a sentence that begins with the value's name. */
export function issueText(...[name, values]: TemplateArguments<typeof issueTexts>): string {
  return fillTemplate(issueTexts[name], values);
}

/** Returns the issue with unknown names, as a part of a sentence. @param where such as ` of the body` */
export function unknownNames(names: readonly string[], what: "parameter" | "header" | "field", where = ""): string {
  return `unknown ${what}${names.length === 1 ? "" : "s"} ${names.join(", ")}${where}`;
}

/** Puts values in the place of a template's placeholders. */
export function fillTemplate(template: string, values: Readonly<Record<string, string | number>> = {}): string {
  return template.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
}
