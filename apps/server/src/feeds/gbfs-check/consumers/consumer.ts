import type { FeedConsumer, FeedLoss, FeedVerdict } from "@bikeshare/contract/console";
import type { FeedSet } from "../feed-set.ts";

/** The parts of a feed set that a consumer, such as a trip planner, shows to riders. */
export interface Taken {
  /** How many stations riders see with the consumer, and how many the feed has. */
  readonly stations: { readonly shown: number; readonly of: number };
  /** The same of vehicles. */
  readonly vehicles: { readonly shown: number; readonly of: number };
  /** The parts that the consumer drops or misreads, in any order. `verdictOf` sorts them. */
  readonly losses: readonly FeedLoss[];
}

/** A program that reads feeds, with the rules by which it reads them. */
export interface Consumer {
  readonly id: FeedConsumer;
  readonly name: string;
  /** Who uses the program, for publishers who do not know it. */
  readonly about: string;
  /** True: it reads version 2 when a system publishes both version 2 and a newer one. */
  readonly readsVersion2?: true;
  /**
   * Returns what the program shows of a feed set. A pure function, so that tests can compare it with the program
   * itself.
   */
  readonly take: (set: FeedSet) => Taken;
}

/** Counts the dropped records by reason. */
export class Drops {
  readonly #counts = new Map<string, number>();

  add(reason: string): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Returns a loss for each reason with at least one record. @param texts describe the loss, by reason */
  losses(texts: Readonly<Record<string, (count: number) => Omit<FeedLoss, "count">>>): FeedLoss[] {
    return [...this.#counts].flatMap(([reason, count]) => {
      const text = texts[reason];
      return text === undefined ? [] : [{ ...text(count), count }];
    });
  }
}

/** Returns a number with its noun: "1 station", "1,811 stations". */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Returns the verdict on a feed set for a consumer, in words. The losses that affect most records come first. */
export function verdictOf({ id, name, about, take }: Consumer, set: FeedSet): FeedVerdict {
  const { stations, vehicles, losses: found } = take(set);
  const losses = found.toSorted((a, b) => b.count - a.count);
  const isNothing = stations.shown + vehicles.shown === 0 && stations.of + vehicles.of > 0;
  const extent = losses.length > 0 ? "partial" : "complete";
  const state = isNothing ? "nothing" : extent;
  return {
    consumer: id,
    name,
    about,
    state,
    text: textOf(name, { stations, vehicles, losses }),
    stations,
    vehicles,
    losses,
  };
}

/** Returns the verdict in one sentence: what is shown, or the worst loss. */
function textOf(name: string, { stations, vehicles, losses }: Taken): string {
  const [first, ...rest] = losses;
  if (first === undefined) {
    const all = [
      ...(stations.of > 0 ? [counted(stations.of, "station")] : []),
      ...(vehicles.of > 0 ? [counted(vehicles.of, "vehicle")] : []),
    ];
    return all.length === 0 ? `${name}: there is nothing to show` : `${name} shows ${all.join(" and ")}`;
  }
  const noun = rest.length === 1 ? "loss" : "losses";
  const more = rest.length === 0 ? "" : `; ${rest.length.toLocaleString("en-US")} more ${noun}`;
  return `${name} ${first.text}${more}`;
}
