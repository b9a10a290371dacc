import { Counter, type Registry } from "prom-client";

/**
 * What became of a try to send a mail, or of the mail.
 *
 * - `sent`: the server took it.
 * - `postponed`: it could not be sent now, and is tried again.
 * - `refused`: the server will never take it. Given up.
 * - `expired`: it could not be sent for a day. Given up.
 * - `unaddressed`: its partner wants no more mail. Given up.
 */
export type MailOutcome = "sent" | "postponed" | "refused" | "expired" | "unaddressed";

const OUTCOMES: readonly MailOutcome[] = ["sent", "postponed", "refused", "expired", "unaddressed"];

/** Counts the mails to partners. */
export interface MailMetrics {
  readonly mailed: (outcome: MailOutcome) => void;
}

/** Adds the metrics of mails to a registry. */
export function createMailMetrics(registry: Registry): MailMetrics {
  const mails = new Counter({
    name: "bikeshare_webhook_mails_total",
    help: "Mails about failing endpoints, by what became of a try or of the mail.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  // Without a zero to begin at, an alert on growth would miss the first.
  for (const outcome of OUTCOMES) mails.inc({ outcome }, 0);
  return { mailed: (outcome) => mails.inc({ outcome }) };
}
