import {
  type FlowList,
  MAX_PAGE_SIZE,
  MIN_FLOW_RIDES,
  type StationHistory,
  type SystemSummary,
} from "@bikeshare/contract";
import type { Random } from "@bikeshare/simulator";
import { apiRequest } from "../contract/endpoints.ts";
import type { Answer } from "../http/client.ts";
import type { CreateScenario, OutgoingRequest, World } from "../run-at-rate/scenario.ts";
import { rotation } from "./reading.ts";

/*
 * The scenario of a partner that reads the past: stations as they were, sums, flows and files. Each kind of answer has a
 * check, except the list of files.
 */

/** Milliseconds after which everything that happened at an instant is committed. */
const SETTLED_MS = 10_000;
/** The service rounds minutes, so the sum of some parts may exceed the whole a little. */
const ROUNDING_ERROR_MINUTES = 0.01;
/** Milliseconds between the instants whose stations are read. Too low: few instants are read twice and compared. */
const INSTANT_STEP_MS = 15_000;

/** A request, and a check of its answer, which returns what is wrong. */
interface Question {
  readonly request: Omit<OutgoingRequest, "key">;
  readonly check: (answer: Answer) => string | undefined;
}

/**
 * Reads past states of stations, sums, flows and the list of files. A past state must stay the same, counts of rides must
 * never go down, and no answer may contradict itself.
 */
export const historyReading: CreateScenario = ({ keys, random, world }) => {
  const nextKey = rotation(keys);
  const station = () => world.stations[random.between(0, world.stations.length - 1)] ?? "";
  const stationsThen = pastStations(world, random);
  const kinds: readonly [() => Question, ...(() => Question)[]] = [
    // Listed twice, so that the most costly request is sent twice as often as each of the others.
    stationsThen,
    stationsThen,
    () => ({
      request: apiRequest("stations.history", { params: { id: station() }, query: { step: "PT1H" } }),
      check: ({ body }) => contradictionOfHistory(JSON.parse(body) as StationHistory),
    }),
    () => ({
      request: apiRequest("stations.forecast", { params: { id: station() } }),
      check: ({ body }) => contradictionOfForecast(body),
    }),
    summaries(),
    flowWalk(),
    () => ({ request: apiRequest("exports.list", {}), check: () => undefined }),
  ];
  const statuses: number[] = [];
  return {
    next() {
      const { request, check } = random.pick(kinds)();
      return {
        request: { ...request, key: nextKey() },
        // The service runs few such reads at once, and answers 503 when a read has waited for half a second.
        expected: ["200", "503 unavailable"],
        onAnswer(answer) {
          statuses.push(answer.status);
          return answer.status === 200 ? check(answer) : undefined;
        },
      };
    },
    finish() {
      const refused = statuses.filter((status) => status === 503).length;
      return {
        violations: refused > statuses.length / 2 ? [`${refused} of ${statuses.length} reads found no place`] : [],
      };
    },
  };
};

/** Reads pages of the stations at instants since the start of the run. A page of a settled instant must stay the same. */
function pastStations({ stations }: World, random: Random): () => Question {
  const begins = Date.now();
  const pages = Math.max(1, Math.ceil(stations.length / MAX_PAGE_SIZE));
  const seen = new Map<string, string>();
  return () => {
    const settledMs = Math.max(0, Date.now() - SETTLED_MS - begins);
    const instant = begins + random.between(0, Math.floor(settledMs / INSTANT_STEP_MS)) * INSTANT_STEP_MS;
    const [at, page] = [new Date(instant).toISOString(), random.between(1, pages)];
    // Decided when the request is made: an answer to an earlier request may lack what was committed afterwards.
    const isPast = Date.now() >= instant + SETTLED_MS;
    return {
      request: apiRequest("stations.list", { query: { at, page, limit: MAX_PAGE_SIZE } }),
      check({ body }) {
        // Searches the text, because parsing a whole page takes longer.
        const asOf = countOf(body, `"as_of":"${at}"`);
        const items = countOf(body, '"as_of":');
        if (asOf !== items || items === 0) return `stations.list: ${asOf} of ${items} stations are as of ${at}`;
        if (!isPast) return undefined;
        const key = `${at} ${page}`;
        const known = seen.get(key) ?? body;
        seen.set(key, known);
        return known === body ? undefined : `stations.list: how stations were at ${at} has changed`;
      },
    };
  };
}

/** Returns how often a text contains another. */
function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

/**
 * Reads the system's summary. The rides of a step must not become fewer. Only requests that were sent after an earlier
 * answer are compared with that answer, because concurrent requests may be answered in any order.
 */
function summaries(): () => Question {
  const rides = new Map<string, { readonly most: number; readonly answeredAt: number }>();
  return () => ({
    request: apiRequest("system.summary", {}),
    check({ body, startedAt, endedAt }) {
      const { data } = JSON.parse(body) as SystemSummary;
      for (const { from, rides_started: started } of data) {
        // Null: the service has not counted the step's rides yet, or no longer keeps the count.
        const rideCount = started ?? 0;
        const known = rides.get(from);
        if (known !== undefined && known.answeredAt < startedAt && rideCount < known.most)
          return `system.summary: ${started} rides started from ${from} on, and ${known.most} before`;
        if (rideCount >= (known?.most ?? 0)) rides.set(from, { most: rideCount, answeredAt: endedAt });
      }
      return contradictionOfSteps("system.summary", data);
    },
  });
}

/** Walks the flows by cursor, again from the start after the last page. */
function flowWalk(): () => Question {
  let cursor: string | undefined;
  return () => ({
    request: apiRequest("flows.list", { query: { cursor } }),
    check({ body }) {
      const list = JSON.parse(body) as FlowList;
      cursor = list.next_cursor;
      return contradictionOfFlows(list);
    },
  });
}

function contradictionOfForecast(body: string): string | undefined {
  const chances = [...body.matchAll(/"at_least_one":([\d.]+)/g)].map(([, chance]) => Number(chance));
  return chances.every((chance) => chance <= 1) ? undefined : `stations.forecast: a chance of ${chances.join()}`;
}

function contradictionOfHistory({ station_id: id, data }: StationHistory): string | undefined {
  for (const { from, minutes, bikes, minutes_empty: empty, minutes_full: full, minutes_offline: offline } of data) {
    const isOrdered = bikes === null || (bikes.min <= bikes.mean && bikes.mean <= bikes.max);
    if (isOrdered && Math.max(empty, full) + offline <= minutes + ROUNDING_ERROR_MINUTES) continue;
    return `stations.history: the step of ${id} from ${from} contradicts itself`;
  }
  return contradictionOfSteps("stations.history", data);
}

function contradictionOfSteps(
  endpoint: string,
  steps: readonly { readonly from: string; readonly to: string }[],
): string | undefined {
  const gap = steps.find(({ from }, index) => index > 0 && steps[index - 1]?.to !== from);
  if (gap !== undefined) return `${endpoint}: no step ends where the one from ${gap.from} begins`;
  return steps.length === 0 ? `${endpoint}: no steps` : undefined;
}

function contradictionOfFlows({ data }: FlowList): string | undefined {
  const rare = data.find(({ rides }) => rides < MIN_FLOW_RIDES);
  if (rare !== undefined) return `flows.list: ${rare.rides} rides of a pair are shown`;
  const keys = data.map(({ start_station_id: start, end_station_id: end }) => `${start}\0${end}`);
  return new Set(keys).size === keys.length ? undefined : "flows.list: a pair is shown twice on a page";
}
