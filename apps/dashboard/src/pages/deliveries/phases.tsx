import type { DeliveryAttempt } from "@bikeshare/contract/console";

type Timings = DeliveryAttempt["timings"];

/** A part of an attempt, such as the TLS handshake. `startMs` counts from the start of the attempt. */
export interface Phase {
  readonly id: "dns" | "connect" | "tls" | "wait" | "rest";
  readonly label: string;
  readonly startMs: number;
  readonly lengthMs: number;
}

const labels = { dns: "DNS", connect: "Connect", tls: "TLS", wait: "First byte", rest: "Rest" } as const;

/** Returns the consecutive parts of an attempt. Omits parts that did not happen; unaccounted time is the rest. */
function phasesOf({ dns, connect, tls, first_byte, total }: Timings): Phase[] {
  const lengths = [
    ["dns", dns],
    ["connect", connect],
    ["tls", tls],
    ["wait", first_byte],
  ] as const;
  let startMs = 0;
  const phases: Phase[] = [];
  for (const [id, lengthMs] of lengths) {
    if (lengthMs === null) continue;
    phases.push({ id, label: labels[id], startMs, lengthMs });
    startMs += lengthMs;
  }
  const rest = (total ?? 0) - startMs;
  // A rest this short comes only from rounding, so it is not a part.
  if (rest > 0.5) phases.push({ id: "rest", label: labels.rest, startMs, lengthMs: rest });
  return phases;
}

interface WaterfallProps {
  readonly timings: Timings;
  /** Milliseconds of the longest attempt. It fills the width of the bar. */
  readonly longestMs: number;
}

/**
 * The parts of an attempt in one bar, whose length is the attempt's duration. Hidden from screen readers, which read the
 * numbers in the attempt's details.
 */
export function Waterfall({ timings, longestMs }: WaterfallProps) {
  const scale = 1000 / Math.max(longestMs, 1);
  return (
    <svg class="attempt-bar" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      {phasesOf(timings).map(({ id, startMs, lengthMs }) => (
        <rect
          key={id}
          class={`phase phase-${id}`}
          x={startMs * scale}
          // Wide enough to be seen.
          width={Math.max(3, lengthMs * scale)}
          height="10"
        />
      ))}
    </svg>
  );
}

/** The timing of an attempt: a bar for each part, and the numbers. */
export function Phases({ timings }: { readonly timings: Timings }) {
  const phases = phasesOf(timings);
  const total = Math.max(timings.total ?? 0, ...phases.map(({ startMs, lengthMs }) => startMs + lengthMs));
  if (phases.length === 0 || total === 0) return <p class="muted">Timing unknown.</p>;
  return (
    <table class="phases">
      <caption class="visually-hidden">Timing</caption>
      <tbody>
        {phases.map(({ id, label, startMs, lengthMs }) => (
          <tr key={id}>
            <th scope="row">{label}</th>
            <td class="phase-track">
              <svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
                <rect
                  class={`phase phase-${id}`}
                  x={(startMs / total) * 1000}
                  width={Math.max(3, (lengthMs / total) * 1000)}
                  height="10"
                />
              </svg>
            </td>
            <td class="align-end mono">{milliseconds(lengthMs)}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">Total</th>
          <td />
          <td class="align-end mono">
            <strong>{milliseconds(total)}</strong>
          </td>
        </tr>
      </tbody>
    </table>
  );
}

/** Returns a duration as `0.4 ms`, `120 ms` or `15.0 s`. */
export function milliseconds(value: number): string {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  return value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}
