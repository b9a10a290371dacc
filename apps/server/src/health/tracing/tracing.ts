import type { Ids } from "../../ids.ts";
import type { Conditions } from "../conditions/conditions.ts";
import type { ActivityTracker } from "./activity.ts";
import type { Tracer, TracingSettings } from "./tracer.ts";

export interface TracingOptions {
  readonly settings: TracingSettings | undefined;
  readonly ids: Ids;
  readonly version: string;
  readonly conditions: Conditions;
}

/** Opens tracing where it is configured; otherwise nothing of it is loaded. */
export async function openTracing({ settings, ids, version, conditions }: TracingOptions): Promise<Tracer | undefined> {
  if (settings === undefined) return undefined;
  const { openOpenTelemetry } = await import("./open-telemetry.ts");
  const sending = conditions.of("sending traces", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  return openOpenTelemetry({
    ...settings,
    version,
    random: () => ids.random(),
    monotonic: () => performance.now(),
    onSent: sending.succeeded,
    onError: sending.failed,
  });
}

/**
 * Returns `ids` that link traces: when a request makes the id of an event, its span is linked to the trace of the
 * attempts to deliver the event.
 */
export function linkEvents(ids: Ids, tracer: Tracer | undefined, activities: ActivityTracker): Ids {
  if (tracer === undefined) return ids;
  return {
    ...ids,
    next(prefix) {
      const id = ids.next(prefix);
      const span = prefix === "event" ? activities.current()?.span : undefined;
      if (span !== undefined) tracer.eventRecorded(span, id);
      return id;
    },
  };
}
