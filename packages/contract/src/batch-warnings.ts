import { fillTemplate, type TemplateArguments } from "./messages.ts";

/** Warnings about an item of a batch. The item succeeded, but the operator should know something about it. */
const batchWarnings = {
  // A time in the item is a little in the future.
  clockAhead:
    "{field} lies {seconds} s ahead of the service's clock, and is stored as {stored}. Set the clock that it comes from.",
  // The item removed a station.
  bikesLeft:
    "Bikes stood at the station: {bikes} ({count} in all). They are outside a station now, at its position. Report them where they are brought.",
  // The item ended a ride of a bike that had been reported broken, for example, during the ride.
  availableAgain:
    "Bike {bike} was reported {state} as of {at}, before the ride's end, and is available now. If it still is {state}, report that again.",
} as const;

/** A warning and its values. */
export type BatchWarning = TemplateArguments<typeof batchWarnings>;

/** Returns the text of a warning. */
export function batchWarning(...[name, values]: BatchWarning): string {
  return fillTemplate(batchWarnings[name], values);
}
