import { median } from "@bikeshare/load";
import type { Figures } from "./measure.ts";

/**
 * A ratio of the rates of two subjects (things that a bench measures side by side), and the values that it is to reach.
 */
export interface Ratio {
  /** The name of the ratio in the report. */
  readonly text: string;
  /** The name of the subject whose rate is divided. */
  readonly of: string;
  /** The name of the subject whose rate it is divided by. */
  readonly by: string;
  /** Whether a higher or a lower ratio is better. */
  readonly better: "more" | "less";
  /** The required value. */
  readonly must: number;
  /** The desired value. */
  readonly aim: number;
}

/** Returns the figures of a part as text: one line for each subject, then one for each ratio. */
export function report(figures: ReadonlyMap<string, Figures>, ratios: readonly Ratio[]): string {
  const lines = [...figures].map(([name, { perSecond, serverCpu, postgresCpu, bytes }]) =>
    [
      name.padEnd(44),
      `${median(perSecond)
        .toFixed(median(perSecond) < 100 ? 1 : 0)
        .padStart(8)} /s`,
      `${median(serverCpu).toFixed(0).padStart(7)} µs server`,
      `${median(postgresCpu).toFixed(0).padStart(8)} µs PostgreSQL`,
      `${bytes.toString().padStart(7)} bytes`,
    ].join("  "),
  );
  return [...lines, ...ratios.map((ratio) => describe(ratio, figures)), ""].join("\n");
}

/** Compares two subjects, and says whether the ratio reaches its values. */
function describe({ text, of, by, better, must, aim }: Ratio, figures: ReadonlyMap<string, Figures>): string {
  const one = figures.get(of);
  const other = figures.get(by);
  if (one === undefined || other === undefined) return `${text}: not measured`;
  const byRepetition = one.perSecond.map((value, repetition) => value / (other.perSecond[repetition] ?? Number.NaN));
  const measured = median(byRepetition);
  // Divides the other subject's time by this one's, so that here, too, more than 1 means that this one is better.
  const cpu = median(cpuOf(other).map((value, repetition) => value / (cpuOf(one)[repetition] ?? Number.NaN)));
  const reaches = (bound: number) => (better === "more" ? measured >= bound : measured <= bound);
  const verdictOfMust = reaches(must) ? "reaches the must" : "SHORT of the must";
  const verdict = reaches(aim) ? "reaches the aim" : verdictOfMust;
  const repetitions = byRepetition.map((value) => value.toFixed(2)).join(" ");
  return `${text}: ${measured.toFixed(2)} by rate (${repetitions}), ${cpu.toFixed(2)} by processor; must ${must}, aim ${aim}: ${verdict}`;
}

/** Returns the processor time of the server and PostgreSQL together, in µs for each request. */
function cpuOf({ serverCpu, postgresCpu }: Figures): number[] {
  return serverCpu.map((value, repetition) => value + (postgresCpu[repetition] ?? Number.NaN));
}
