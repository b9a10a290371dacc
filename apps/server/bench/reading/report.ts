import { type Figures, median } from "./measure.ts";

/** A ratio of two subjects, and what it is to be. */
export interface Ratio {
  readonly text: string;
  readonly of: string;
  readonly by: string;
  /** Whether more of it is better, or less. */
  readonly better: "more" | "less";
  readonly must: number;
  readonly aim: number;
}

/** The figures of a part as text: a line for each subject, then one for each ratio. */
export function report(figures: ReadonlyMap<string, Figures>, ratios: readonly Ratio[]): string {
  const lines = [...figures].map(([name, { perSecond, serverCpu, postgresCpu, bytes }]) =>
    [
      name.padEnd(44),
      `${median(perSecond).toFixed(median(perSecond) < 100 ? 1 : 0).padStart(8)} /s`,
      `${median(serverCpu).toFixed(0).padStart(7)} µs server`,
      `${median(postgresCpu).toFixed(0).padStart(8)} µs PostgreSQL`,
      `${bytes.toString().padStart(7)} bytes`,
    ].join("  "),
  );
  return [...lines, ...ratios.map((ratio) => describe(ratio, figures)), ""].join("\n");
}

function describe({ text, of, by, better, must, aim }: Ratio, figures: ReadonlyMap<string, Figures>): string {
  const one = figures.get(of);
  const other = figures.get(by);
  if (one === undefined || other === undefined) return `${text}: not measured`;
  const byRound = one.perSecond.map((value, round) => value / (other.perSecond[round] ?? Number.NaN));
  const measured = median(byRound);
  const cpu = median(cpuOf(other).map((value, round) => value / (cpuOf(one)[round] ?? Number.NaN)));
  const reaches = (bound: number) => (better === "more" ? measured >= bound : measured <= bound);
  const shortOfMust = reaches(must) ? "reaches the must" : "SHORT of the must";
  const verdict = reaches(aim) ? "reaches the aim" : shortOfMust;
  const rounds = byRound.map((value) => value.toFixed(2)).join(" ");
  return `${text}: ${measured.toFixed(2)} by rate (${rounds}), ${cpu.toFixed(2)} by processor; must ${must}, aim ${aim}: ${verdict}`;
}

/** The server's and PostgreSQL's processor time together, µs a request. */
function cpuOf({ serverCpu, postgresCpu }: Figures): number[] {
  return serverCpu.map((value, round) => value + (postgresCpu[round] ?? Number.NaN));
}
