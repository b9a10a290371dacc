import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract/pure";

/** How many deliveries wait: with a plus sign where no more were counted. */
export function waitingText(count: number, isComplete: boolean = count < MAX_COUNTED_DELIVERIES): string {
  return `${count.toLocaleString("en")}${isComplete ? "" : "+"}`;
}
