import type { Probe, ProbeStep } from "@bikeshare/contract/console";
import { Code } from "../../components/code.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { Body } from "../deliveries/body.tsx";

const names: Readonly<Record<ProbeStep["step"], string>> = {
  address: "Address",
  dns: "DNS",
  connect: "Connection",
  tls: "TLS",
  response: "Answer",
};

const results: Readonly<Record<ProbeStep["result"], { readonly tone: Tone; readonly word: string }>> = {
  passed: { tone: "success", word: "passed" },
  failed: { tone: "danger", word: "failed" },
  not_needed: { tone: "neutral", word: "not needed" },
  not_reached: { tone: "neutral", word: "not reached" },
};

/**
 * The result of a test request to an address: its steps, and what to do about a failure. (The probe of a webhook that is
 * resumed is something else: a delivery.)
 */
export function ProbeResult({ probe }: { readonly probe: Probe }) {
  const { steps, advice, request, response } = probe;
  return (
    <div class="stack" role="status">
      <Notice
        tone={probe.is_accepted ? "success" : "warning"}
        title={probe.is_accepted ? "Deliveries would succeed" : (advice?.meaning ?? "Deliveries would fail")}
      >
        {probe.is_accepted ? "The test request succeeded." : advice?.action}
        {!probe.is_signed_with_secret &&
          request !== null &&
          " It was not signed with the webhook's secret: a receiver that verifies signatures rightly refuses this one request."}
      </Notice>
      <ol class="webhook-steps">
        {steps.map(({ step, result, ms, text }) => (
          <li key={step}>
            <strong>{names[step]}</strong>
            <Status tone={results[result].tone}>{results[result].word}</Status>
            <span class="muted">
              {text}
              {ms !== null && `, ${ms.toFixed(0)} ms`}
            </span>
          </li>
        ))}
      </ol>
      {request !== null && <Code label="The body that was sent" text={request.body.text} />}
      {response !== null && (
        <>
          <Code label={`The answer, status ${response.status}`} text={headText(response)} />
          <Body label="The body of the answer" body={response.body} />
        </>
      )}
    </div>
  );
}

function headText({ status, headers }: NonNullable<Probe["response"]>): string {
  return [`HTTP ${status}`, ...headers.map(([name, value]) => `${name}: ${value}`)].join("\n");
}
