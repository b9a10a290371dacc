import type { Span } from "./activity.ts";

/** Where traces are sent, and how many. */
export interface TracingSettings {
  /** Takes OTLP over HTTP, in JSON: https://collector.example/v1/traces. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** The share of requests that is recorded, from 0 to 1. */
  readonly ratio: number;
}

/** An attempt to deliver a webhook that has ended. */
export interface TracedAttempt {
  /** `delivery_`, the characters of its event's id, and its endpoint's tag. */
  readonly deliveryId: string;
  readonly number: number;
  readonly outcome: string;
  readonly failure: string | null;
  readonly status: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Records traces. Each process decides which, within its own limits: a caller that asks for traces cannot cause load. */
export interface Tracer {
  /** @param traceparent as the caller sent it. @returns undefined: this request is not recorded */
  startRequest(traceparent: unknown): Span | undefined;
  /** Records attempts of webhooks after the fact. */
  attempted(attempts: readonly TracedAttempt[]): void;
  /** Links a span, whose request records an event, to the trace of the event's attempts. */
  eventRecorded(span: Span, eventId: string): void;
  /** Sends the waiting spans, within a few seconds. */
  close(): Promise<void>;
}
