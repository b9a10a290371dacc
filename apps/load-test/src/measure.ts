import { randomUUID } from "node:crypto";
import { type Plan, runPlan, type RunResult, scenarios, type SecondResult, type StreamPlan } from "@bikeshare/load";
import type { Profile, StreamSpec } from "./profiles.ts";
import { recordMetrics } from "./server/metrics.ts";
import type { ServiceUnderLoad } from "./service-under-load.ts";
import { checkThresholds, type Threshold } from "./thresholds.ts";
import { invalidReasons, isPassed } from "./verdict.ts";

/*
 * Runs a profile once. A profile has streams, each of which sends the requests of one scenario at a rate. While it runs, the
 * server's metrics are recorded, and a receiver takes the webhooks. The result is a report with a verdict.
 */

/** The settings with which a profile is run. */
export interface MeasureSettings {
  readonly mode: "open" | "closed";
  readonly warmUpMs: number;
  readonly seed: number;
  readonly workers: number;
  readonly connections: number;
  /** One response in so many of each kind is compared with the contract. */
  readonly checkEvery: number;
  readonly thresholds: readonly Threshold[];
}

export interface MeasureOptions {
  readonly service: ServiceUnderLoad;
  readonly profile: Profile;
  readonly settings: MeasureSettings;
  readonly onSecond?: (second: SecondResult) => void;
  readonly signal?: AbortSignal;
}

/** Runs a profile against a service, and evaluates the results. */
export async function measure(options: MeasureOptions): Promise<RunResult> {
  const { service, settings, profile } = options;
  const plan = planOf(options);
  await service.receiver?.begin();
  const metrics = service.metricsUrl === undefined ? undefined : recordMetrics(service.metricsUrl);
  const outcome = await runPlan({ plan, onSecond: options.onSecond, signal: options.signal }).finally(() =>
    metrics?.stop(),
  );
  const { startedAtMs, acknowledgedEvents, ...found } = outcome;
  // The receiver compares what it got with the events of the commands that the service has acknowledged.
  const webhooks = await service.receiver?.result(acknowledgedEvents);
  const serverMetrics = (await metrics?.series(startedAtMs)) ?? [];
  const findings = { ...found, webhooks, serverMetrics };
  const verdict = {
    invalidReasons: invalidReasons(findings, settings),
    thresholds: checkThresholds(settings.thresholds, findings),
  };
  return {
    version: 1,
    passed: isPassed(findings, verdict),
    ...verdict,
    startedAt: new Date(startedAtMs).toISOString(),
    settings: {
      name: profile.name,
      url: plan.url,
      mode: plan.mode,
      durationSeconds: plan.durationMs / 1000,
      warmUpSeconds: plan.warmUpMs / 1000,
      seed: plan.seed,
      workers: plan.workers,
      connections: plan.connections,
    },
    ...findings,
  };
}

/** Returns the plan of a run. `world`: the stations and bikes that the service has, from which requests choose. */
function planOf({ service, profile, settings }: MeasureOptions): Plan {
  const { url, operatorKey, world } = service;
  const { mode, warmUpMs, seed, workers, connections, checkEvery } = settings;
  return {
    url,
    operatorKey,
    world,
    mode,
    warmUpMs,
    seed,
    workers,
    connections,
    checkEvery,
    durationMs: profile.durationMs,
    runId: randomUUID().slice(0, 8),
    streams: profile.streams.map((stream) => streamPlan(stream, profile, service)),
  };
}

/** Returns the plan of one stream: with its keys, its bikes and, for a replay, the recorded events. */
function streamPlan(stream: StreamSpec, { streams, replay }: Profile, service: ServiceUnderLoad): StreamPlan {
  const isLimited = scenarios[stream.scenario]?.needsLimitedKeys === true;
  // Each stream that moves bikes gets a separate part of them, so that streams do not conflict.
  const movers = streams.filter(({ scenario }) => scenarios[scenario]?.needsBikes === true);
  const share = movers.indexOf(stream);
  const bikes = share < 0 ? [] : service.world.bikes.filter((_, index) => index % movers.length === share);
  const plan = { ...stream, keys: isLimited ? service.limitedKeys : service.keys, bikes };
  return replay === undefined ? plan : { ...plan, recorded: replay.events };
}
