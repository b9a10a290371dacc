import type { DeliveryAttempt } from "@bikeshare/contract/console";
import { visibleControls } from "../../components/code.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { Time } from "../../components/time.tsx";
import { SignatureSection } from "../signature/signature-section.tsx";
import { Body } from "./body.tsx";
import { milliseconds, Phases, Waterfall } from "./phases.tsx";

const tones: Readonly<Record<DeliveryAttempt["outcome"], Tone>> = {
  succeeded: "success",
  rejected: "danger",
  failed: "danger",
  unknown: "warning",
};

interface AttemptProps {
  readonly attempt: DeliveryAttempt;
  readonly isOpen: boolean;
  /** Milliseconds of the longest attempt of the delivery. */
  readonly longestMs: number;
}

/** One attempt on the timeline: its outcome, how to fix a failure, its timing, and the full request and response. */
export function Attempt({ attempt, isOpen, longestMs }: AttemptProps) {
  const { number, outcome, summary, detail, advice, timings, next_attempt_at, next_attempt_reason } = attempt;
  return (
    <li class="attempt">
      <details open={isOpen}>
        <summary class="attempt-summary">
          <h2>Attempt {number}</h2>
          <Status tone={tones[outcome]}>{visibleControls(summary)}</Status>
          <Time at={attempt.started_at} show="both" />
          <Waterfall timings={timings} longestMs={longestMs} />
          <span class="muted mono">{timings.total === null ? "" : milliseconds(timings.total)}</span>
        </summary>
        <div class="stack attempt-body">
          {advice !== null && (
            <Notice tone={outcome === "unknown" ? "warning" : "danger"} title={advice.meaning}>
              {advice.action}
              {detail !== null && <p class="muted">In its own words: {visibleControls(detail)}</p>}
            </Notice>
          )}
          {next_attempt_at !== null && (
            <p class="muted">
              Next attempt <Time at={next_attempt_at} />
              {next_attempt_reason !== null && `, ${visibleControls(next_attempt_reason)}`}
            </p>
          )}
          <CheckSignature request={attempt.request} />
          <Phases timings={timings} />
          <Exchange attempt={attempt} />
        </div>
      </details>
    </li>
  );
}

/** Checks an attempt's signature with a secret that the reader enters. Header and body are filled in. */
function CheckSignature({ request }: Pick<DeliveryAttempt, "request">) {
  const [, header] = request?.headers.find(([name]) => name.toLowerCase() === "service-signature") ?? [];
  if (request === null || header === undefined || request.body.encoding !== "utf-8") return null;
  return <SignatureSection title="Check this signature" header={header} body={request.body.text} />;
}

function Exchange({ attempt: { request, response, url, remote_address: address } }: Pick<AttemptProps, "attempt">) {
  return (
    <div class="exchange">
      <section class="stack" aria-label="Request">
        <h3>Request</h3>
        <p class="mono exchange-line">
          POST {visibleControls(url)}
          {address !== null && <span class="muted"> → {address}</span>}
        </p>
        {request === null ? (
          <p class="muted">The request is unknown.</p>
        ) : (
          <>
            <Headers label="Request headers" headers={request.headers} />
            <Body label="Request body" body={request.body} />
          </>
        )}
      </section>
      <section class="stack" aria-label="Response">
        <h3>Response</h3>
        {response === null ? (
          <p class="muted">No response.</p>
        ) : (
          <>
            <p class="mono exchange-line">HTTP {response.status}</p>
            <Headers label="Response headers" headers={response.headers} />
            <Body label="Response body" body={response.body} />
          </>
        )}
      </section>
    </div>
  );
}

interface HeadersProps {
  readonly label: string;
  readonly headers: readonly (readonly [string, string])[];
}

function Headers({ label, headers }: HeadersProps) {
  return (
    // Focusable, so that the headers can be scrolled with the keyboard.
    <div class="headers" role="group" aria-label={label} tabIndex={0}>
      <dl class="mono">
        {headers.map(([name, value], index) => (
          <div key={index}>
            <dt>{visibleControls(name)}</dt>
            <dd dir="ltr">{visibleControls(value)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
