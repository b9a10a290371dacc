import { fillTemplate, type TemplateArguments } from "./messages.ts";

/** What an item of a batch that was done may warn of. */
const batchWarnings = {
  clockAhead:
    "{field} lies {seconds} s ahead of the service's clock, and is stored as {stored}. Set the clock that it comes from.",
  bikesLeft:
    "{count} bikes stood at the station: {bikes}. They are outside a station now, at its position. Report them where they are brought.",
} as const;

/** Which warning, and its values. */
export type BatchWarning = TemplateArguments<typeof batchWarnings>;

/** The text of a warning. */
export function batchWarning(...[name, values]: BatchWarning): string {
  return fillTemplate(batchWarnings[name], values);
}
