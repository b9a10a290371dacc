import { contractViolation, type EndpointName } from "../contract/endpoints.ts";
import type { ContractResult, Findings, Latency, SecondResult, StreamResult, Totals } from "../result.ts";
import { createOutcomeCounter, type OutcomeCount } from "./outcomes.ts";
import type { Plan } from "./plan.ts";
import { createLatencyHistogram, type Histograms, mergedHistograms, summaryOf } from "./recorder.ts";
import type { SecondCount } from "./second-counter.ts";
import type { StreamReport } from "./stream.ts";
import type { WorkerMessage } from "./worker.ts";

/*
 * Collects what the worker threads of a run send: histograms, counts by second, samples of answers, and reports of their
 * streams. It merges them into the figures of the run, and compares the samples with the contract.
 */

/** The merged results of a run's workers. */
export interface RunOutcome extends Omit<Findings, "webhooks" | "serverMetrics"> {
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Events whose cause the service has acknowledged, such as `ride.started <ride id>`. Their webhooks must arrive. */
  readonly acknowledgedEvents: readonly string[];
}

/** Takes the messages of a run's workers, and gives the run's figures when all have finished. */
export interface Collector {
  take(message: WorkerMessage): void;
  outcome(startedAtMs: number): RunOutcome;
}

/** Maximum distinct violations of the contract that are kept. */
const MAX_CONTRACT_VIOLATIONS = 20;

/** Merges the messages of a run's workers. */
export function createCollector(plan: Plan, onSecond: (second: SecondResult) => void = () => undefined): Collector {
  /**
   * For each worker, the histograms of each stream. A worker shares its histograms at its start, and fills them until
   * it has finished.
   */
  const histograms: (readonly Histograms[])[] = [];
  const reports: StreamReport[] = [];
  const seconds: SecondResult[] = [];
  /** The counts that workers have sent of each second, until all have. */
  const countsBySecond = new Map<number, SecondCount[]>();
  const contract = createContractCheck();
  /** Adds a worker's counts of a second. The second is complete when every worker has sent its counts. */
  const takeSecond = (count: SecondCount) => {
    const parts = [...(countsBySecond.get(count.second) ?? []), count];
    countsBySecond.set(count.second, parts);
    if (parts.length < plan.workers) return;
    countsBySecond.delete(count.second);
    const second = mergedSecond(parts);
    seconds.push(second);
    onSecond(second);
  };
  return {
    take(message) {
      if (message.kind === "ready") histograms.push(message.histograms);
      else if (message.kind === "second") takeSecond(message.count);
      else if (message.kind === "sample") contract.check(message.endpoint, message.status, message.body);
      else reports.push(...message.reports);
    },
    outcome(startedAtMs) {
      const streams = plan.streams.map((stream, index): StreamResult => {
        const merged = mergedHistograms(histograms.flatMap((ofWorker) => ofWorker[index] ?? []));
        return {
          name: stream.name,
          scenario: stream.scenario,
          intendedPerSecond: plan.mode === "open" ? stream.ratePerSecond : undefined,
          latency: latencyOf(merged),
          outcomes: mergedOutcomes(reports.filter(({ name }) => name === stream.name)),
        };
      });
      // The last seconds may lack the counts of workers that finished earlier.
      for (const parts of countsBySecond.values()) seconds.push(mergedSecond(parts));
      return {
        startedAtMs,
        latency: latencyOf(mergedHistograms(histograms.flat())),
        streams,
        totals: totalsOf(streams, plan),
        seconds: seconds.toSorted((a, b) => a.second - b.second),
        contract: contract.result(),
        // What went wrong in the streams. `contract` has the violations of the contract.
        violations: reports.flatMap(({ name, violations }) => violations.map((text) => `${name}: ${text}`)),
        acknowledgedEvents: reports.flatMap(({ acknowledgedEvents }) => acknowledgedEvents),
      };
    },
  };
}

function createContractCheck() {
  const violations = new Set<string>();
  let checked = 0;
  return {
    check(endpoint: string, status: number, body: string) {
      checked++;
      const violation = contractViolation(endpoint as EndpointName, status, body);
      if (violation !== undefined && violations.size < MAX_CONTRACT_VIOLATIONS)
        violations.add(`${endpoint}: ${violation}`);
    },
    result: (): ContractResult => ({ checked, violations: [...violations] }),
  };
}

function latencyOf({ response, service, lag }: Histograms): Latency {
  return { response: summaryOf(response), service: summaryOf(service), lag: summaryOf(lag) };
}

function mergedOutcomes(reports: readonly StreamReport[]): OutcomeCount[] {
  const merged = createOutcomeCounter();
  for (const { endpoint, outcome, isExpected, count } of reports.flatMap(({ outcomes }) => outcomes)) {
    merged.add(endpoint, outcome, isExpected, count);
  }
  return merged.counts();
}

function totalsOf(streams: readonly StreamResult[], plan: Plan): Totals {
  const outcomes = streams.flatMap(({ outcomes: ofStream }) => ofStream);
  const sum = (of: readonly OutcomeCount[]) => of.reduce((total, { count }) => total + count, 0);
  // The outcome of an answered request begins with its status. Others, such as `timeout`, begin with a letter.
  const answered = sum(outcomes.filter(({ outcome }) => /^\d/.test(outcome)));
  return {
    started: sum(outcomes),
    answered,
    unexpected: sum(outcomes.filter(({ isExpected }) => !isExpected)),
    perSecond: Number((answered / (plan.durationMs / 1000)).toFixed(1)),
  };
}

function mergedSecond(parts: readonly SecondCount[]): SecondResult {
  const sum = (read: (part: SecondCount) => number) => parts.reduce((total, part) => total + read(part), 0);
  // Two significant figures, as in the workers' counts of a second.
  const [response, lag] = [createLatencyHistogram(2), createLatencyHistogram(2)];
  for (const part of parts) {
    if (part.response.count > 0) response.add(part.response);
    if (part.lag.count > 0) lag.add(part.lag);
  }
  const { percentiles, max } = summaryOf(response);
  return {
    second: parts[0]?.second ?? 0,
    started: sum(({ started }) => started),
    answered: sum(({ answered }) => answered),
    unexpected: sum(({ unexpected }) => unexpected),
    pending: sum(({ pending }) => pending),
    p50: percentiles["50"] ?? 0,
    p90: percentiles["90"] ?? 0,
    p99: percentiles["99"] ?? 0,
    max,
    lagP99: summaryOf(lag).percentiles["99"] ?? 0,
  };
}
