import { literalAddress, portOf } from "../outbound/addresses/address-guard.ts";
import type { AttemptResult } from "./rules/after-attempt.ts";

/** The steps of a test request to a webhook address, in the order in which they happen. */
const probeSteps = ["address", "dns", "connect", "tls", "response"] as const;
type StepName = (typeof probeSteps)[number];

/** The result of one step of an address probe: a signed test request to a URL that somebody wants to set. */
export interface ProbeStep {
  readonly step: StepName;
  readonly result: "passed" | "failed" | "not_needed" | "not_reached";
  /** The duration in milliseconds; null: it was not measured, as for the step `address` or a step that was not reached. */
  readonly ms: number | null;
  /** What the step found, as a text for the page. */
  readonly text: string;
}

/**
 * Returns the steps of a probe with their findings. If the probe failed, the last step that was reached counts as failed.
 * @param address the URL as typed; it may be invalid
 */
export function stepsOf(address: string, result: AttemptResult): readonly ProbeStep[] {
  const url = URL.parse(address);
  const reached = probeSteps.filter((step) => isReached(step, result));
  const failed = result.outcome === "succeeded" ? undefined : reached.at(-1);
  return probeSteps.map((step) => {
    const ms = millisecondsOf(step, result);
    // An invalid URL fails at the first step, so there is a URL where a step passed.
    if (step === failed) return { step, result: "failed", ms, text: result.detail ?? describeAnswer(result.status) };
    if (url !== null && reached.includes(step))
      return { step, result: "passed", ms, text: passedText(step, url, result) };
    const needless = url === null || failed === "address" ? undefined : reasonNotNeeded(step, url);
    return needless === undefined
      ? { step, result: "not_reached", ms, text: "Not reached" }
      : { step, result: "not_needed", ms, text: needless };
  });
}

/**
 * Tells whether a step began: a step that failed has a time too. The step `response` begins when the request has been
 * written.
 */
function isReached(step: StepName, { timings, sentHeaders }: AttemptResult): boolean {
  if (step === "address") return true;
  return step === "response" ? sentHeaders.length > 0 : timings[step] !== null;
}

function millisecondsOf(step: StepName, { timings }: AttemptResult): number | null {
  if (step === "address") return null;
  return step === "response" ? timings.firstByte : timings[step];
}

function reasonNotNeeded(step: StepName, url: URL): string | undefined {
  if (step === "dns" && literalAddress(url) !== undefined) return "The address is an IP address, not a name";
  if (step === "tls" && url.protocol === "http:") return "Plain http has no TLS";
  return undefined;
}

function passedText(step: StepName, url: URL, { remoteAddress, status }: AttemptResult): string {
  switch (step) {
    case "address":
      return `${url.protocol.slice(0, -1)} on port ${portOf(url)} is allowed`;
    case "dns":
      return `All addresses of ${url.hostname} may be called`;
    case "connect":
      return `Connected to ${remoteAddress ?? url.host}`;
    case "tls":
      return `The certificate is valid for ${url.hostname}`;
    case "response":
      return describeAnswer(status);
  }
}

function describeAnswer(status: number | null): string {
  const isRedirect = status !== null && status >= 300 && status < 400;
  return `Answered ${status}${isRedirect ? ", a redirect, which is not followed" : ""}`;
}
