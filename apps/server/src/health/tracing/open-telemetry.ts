import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Context, ROOT_CONTEXT, type Span as OtelSpan, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  RandomIdGenerator,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Span, SpanAttributes } from "./activity.ts";
import { createSampling, parseTraceparent, type Sampling } from "./sampling.rules.ts";
import type { TracedAttempt, Tracer, TracingSettings } from "./tracer.ts";

export interface OpenTelemetryOptions extends TracingSettings {
  readonly version: string;
  readonly random: () => number;
  readonly monotonic: () => number;
  readonly onSent: () => void;
  /** Spans could not be sent: they are lost, and nothing else is affected. */
  readonly onError: (error: unknown) => void;
}

/** The flag "sampled" of W3C Trace Context: the trace is recorded. */
const SAMPLED = 1;
/** Maximum spans that wait to be sent. Further ones are dropped. */
const MAX_WAITING_SPANS = 4_096;
const EXPORT_INTERVAL_MS = 2_000;
const EXPORT_TIMEOUT_MS = 5_000;
/** Maximum milliseconds for sending the last spans when the process stops. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Maximum characters of an attribute. The service's own are shorter. */
const MAX_ATTRIBUTE_LENGTH = 200;

/** Records traces with OpenTelemetry's SDK, and sends them by OTLP over HTTP. Loaded only if tracing is configured. */
export function openOpenTelemetry(options: OpenTelemetryOptions): Tracer {
  const traceIds = new ChosenTraceIds();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": options.serviceName, "service.version": options.version }),
    // `createSampling` decides before a span is created.
    sampler: new AlwaysOnSampler(),
    idGenerator: traceIds,
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_LENGTH, linkCountLimit: 32 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(newExporter(options), options),
        maxQueueSize: MAX_WAITING_SPANS,
        scheduledDelayMillis: EXPORT_INTERVAL_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const tracer = provider.getTracer("bikeshare", options.version);
  const sampling = createSampling(options);
  return {
    startRequest(traceparent) {
      const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent);
      if (!sampling.isSampled(parent?.isSampled === true)) return undefined;
      const remote = parent && { traceId: parent.traceId, spanId: parent.spanId, traceFlags: SAMPLED, isRemote: true };
      const context = remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote);
      return wrap(tracer.startSpan("request", { kind: SpanKind.SERVER }, context), tracer, context);
    },
    attempted(attempts) {
      for (const attempt of attempts) recordAttempt(attempt, { tracer, sampling, traceIds, ratio: options.ratio });
    },
    eventRecorded(span, eventId) {
      const { traceId, spanId } = attemptsTrace(eventId);
      sdkSpans.get(span)?.addLink({ context: { traceId, spanId, traceFlags: SAMPLED } });
    },
    async close() {
      const late = sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false });
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

type OtelTracer = ReturnType<TracerProvider["getTracer"]>;

function newExporter({ endpoint, headers }: TracingSettings): SpanExporter {
  return new OTLPTraceExporter({ url: endpoint, headers, timeoutMillis: EXPORT_TIMEOUT_MS });
}

/** Reports whether spans were sent, which the SDK does not. */
function reporting(exporter: SpanExporter, { onSent, onError }: OpenTelemetryOptions): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        // 0: success (`ExportResultCode` of OpenTelemetry).
        if (Number(result.code) === 0) onSent();
        else onError(result.error ?? new Error("The spans were not taken."));
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

/** The SDK's spans behind ours, for links. */
const sdkSpans = new WeakMap<Span, OtelSpan>();

/** Wraps a span of the SDK as one of ours. @param context the SDK's context of the parent */
function wrap(span: OtelSpan, tracer: OtelTracer, context: Context): Span {
  const within = trace.setSpan(context, span);
  const made: Span = {
    traceId: span.spanContext().traceId,
    child: (name) => wrap(tracer.startSpan(name, { kind: SpanKind.CLIENT }, within), tracer, within),
    end(attributes = {}, error) {
      nameRequest(span, attributes);
      span.setAttributes({ ...attributes, ...(error !== undefined && { "error.type": error }) });
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
  sdkSpans.set(made, span);
  return made;
}

/** Names the span of a request when it ends, because the endpoint that answers is not known before. */
function nameRequest(span: OtelSpan, attributes: SpanAttributes): void {
  const { "http.request.method": method, "http.route": route } = attributes;
  if (method !== undefined && route !== undefined) span.updateName(`${String(method)} ${String(route)}`);
}

interface AttemptRecorder {
  readonly tracer: OtelTracer;
  readonly sampling: Sampling;
  readonly traceIds: ChosenTraceIds;
  readonly ratio: number;
}

function recordAttempt(attempt: TracedAttempt, { tracer, sampling, traceIds, ratio }: AttemptRecorder): void {
  const eventId = eventOf(attempt.deliveryId);
  const { traceId, chance } = attemptsTrace(eventId);
  // The choice is by event, so that all its attempts are recorded or none, whichever process makes them. Only the limit for
  // each second leaves out single ones.
  if (chance >= ratio || !sampling.isWithinBound()) return;
  const { failure, status, outcome } = attempt;
  const span = traceIds.during(traceId, () =>
    tracer.startSpan(
      "webhook attempt",
      { kind: SpanKind.PRODUCER, startTime: attempt.startedAt, root: true },
      ROOT_CONTEXT,
    ),
  );
  span.setAttributes({
    "bikeshare.event_id": eventId,
    "bikeshare.delivery_id": attempt.deliveryId,
    "bikeshare.attempt": attempt.number,
    "bikeshare.outcome": outcome,
    ...(status !== null && { "http.response.status_code": status }),
    ...(outcome !== "succeeded" && { "error.type": failure ?? String(status) }),
  });
  if (outcome !== "succeeded") span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(attempt.endedAt);
}

/** Characters of an identifier behind its prefix. */
const ID_LENGTH = 22;

/** Returns the id of a delivery's event: behind their prefixes, both begin with the same characters. */
function eventOf(deliveryId: string): string {
  const start = deliveryId.indexOf("_") + 1;
  return `event_${deliveryId.slice(start, start + ID_LENGTH)}`;
}

/**
 * Returns the trace of an event's attempts. It is derived from the event's id, so that the request that records the event
 * can link to the trace and nothing has to be stored.
 * @returns `spanId`: a link needs one, but no span has it; `chance`: from 0 up to 1, and below the ratio for events whose
 * attempts are recorded
 */
function attemptsTrace(eventId: string) {
  const hash = createHash("sha256").update(eventId).digest();
  return {
    traceId: hash.toString("hex", 0, 16),
    spanId: hash.toString("hex", 16, 24),
    chance: hash.readUInt32BE(24) / 2 ** 32,
  };
}

/** Generates random ids, except during the creation of a span whose trace id is given (`during`). */
class ChosenTraceIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #chosen: string | undefined;

  generateTraceId(): string {
    return this.#chosen ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.#random.generateSpanId();
  }

  during<Result>(traceId: string, work: () => Result): Result {
    this.#chosen = traceId;
    try {
      return work();
    } finally {
      this.#chosen = undefined;
    }
  }
}
