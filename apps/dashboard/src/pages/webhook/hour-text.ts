import type { Webhook } from "@bikeshare/contract/console";

/** Returns how much of a webhook's hourly limit is used: "12 of 20 sent, 3 skipped". Undefined: it has no limit. */
export function hourText({ max_per_hour: most, this_hour: hour }: Pick<Webhook, "max_per_hour" | "this_hour">) {
  if (most === null) return undefined;
  const { sent = 0, skipped = 0 } = hour ?? {};
  const text = `${sent.toLocaleString("en")} of ${most.toLocaleString("en")} sent`;
  return skipped === 0 ? text : `${text}, ${skipped.toLocaleString("en")} skipped`;
}
