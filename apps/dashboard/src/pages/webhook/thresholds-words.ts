import type { Webhook } from "@bikeshare/contract/console";

/** How far a webhook's limit of an hour is used: "12 of 20 sent, 3 skipped"; undefined where it has none. */
export function hourText({ max_per_hour: most, this_hour: hour }: Pick<Webhook, "max_per_hour" | "this_hour">) {
  if (most === null) return undefined;
  const { sent = 0, skipped = 0 } = hour ?? {};
  const text = `${sent.toLocaleString("en")} of ${most.toLocaleString("en")} sent`;
  return skipped === 0 ? text : `${text}, ${skipped.toLocaleString("en")} skipped`;
}
