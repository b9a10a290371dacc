import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract/pure";

/** Returns the number of pending deliveries, with a plus sign when the count is incomplete. */
export function waitingText(count: number, isComplete: boolean = count < MAX_COUNTED_DELIVERIES): string {
  return `${count.toLocaleString("en")}${isComplete ? "" : "+"}`;
}
