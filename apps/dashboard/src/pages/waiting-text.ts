import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract/pure";

/**
 * Returns a number of pending or held deliveries, with a plus sign if there are or may be more: by default if it is the
 * number at which the service stops counting.
 */
export function waitingText(count: number, isComplete: boolean = count < MAX_COUNTED_DELIVERIES): string {
  return `${count.toLocaleString("en")}${isComplete ? "" : "+"}`;
}
