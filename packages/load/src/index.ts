/*
 * Load for load tests and benches: requests at a set rate (run-at-rate, scenarios) or as fast as answers come
 * (http/saturate), clients that remember what was acknowledged (workload), webhook receivers (webhooks), and charts of
 * the results (chart).
 */
export { chart, drawPicture, type Line } from "./chart/chart.ts";
export { html, Markup } from "./chart/markup.ts";
export { linearScale, logScale, percentileScale, type Scale, timeScale } from "./chart/scales.ts";
export { batchSender, type CitySize, fillCity } from "./fill.ts";
export { type Answer, createHttpClient, type HttpClient, type HttpRequest } from "./http/client.ts";
export { type Requested, saturate } from "./http/saturate.ts";
export { describePercentiles, median, percentile, type Percentiles, percentilesOf } from "./percentiles.ts";
export {
  childrenOf,
  cpuMicroseconds,
  cpuWithChildren,
  descendantsOf,
  memoryMiB,
  processorTimeOf,
} from "./process-usage.ts";
export type {
  ContractResult,
  DeliveryResult,
  Findings,
  KneeStep,
  MetricPoint,
  MetricSeries,
  RunResult,
  SecondResult,
  ThresholdResult,
} from "./result.ts";
export type { RunOutcome } from "./run-at-rate/collector.ts";
export { discoverWorld } from "./run-at-rate/discover.ts";
export { runOpenLoop } from "./run-at-rate/open-loop.ts";
export type { Plan, StreamPlan } from "./run-at-rate/plan.ts";
export type { LatencySummary } from "./run-at-rate/recorder.ts";
export { runPlan } from "./run-at-rate/run.ts";
export type { RecordedEvent, World } from "./run-at-rate/scenario.ts";
export { scenarioNames, scenarios } from "./scenarios/all.ts";
export { type ReceiverProcess, startReceiver } from "./webhooks/receiver-process.ts";
export { openReceiver, type Receiver, type ReceiverOptions } from "./webhooks/receiver.ts";
export { type Attempt, describeErrors, type Figures, figuresOf, type RequestKind } from "./workload/attempts.ts";
export { createFindings, type Findings as WorkloadFindings } from "./workload/findings.ts";
export { createLedger, type Ledger } from "./workload/ledger.ts";
export { countEvents, type Item, walk, walkEvents } from "./workload/lists.ts";
export { createRequests, type Requests } from "./workload/requests.ts";
export { verifyWorkload, type WorkloadReport } from "./workload/verify.ts";
export { type PreparedSystem, startWorkload, type Workload } from "./workload/workload.ts";
