import { useEffect, useState } from "preact/hooks";
import { visibleControls } from "./code.tsx";
import { lazily } from "./lazily.ts";
import { dayText, exactText, zoneName } from "./time-zone.ts";
import "./time.css";

interface TimeProps {
  /** In RFC 3339. Null or undefined: it has not happened yet. */
  readonly at: string | null | undefined;
  /**
   * `relative`: "3 minutes ago" within a day, otherwise the date. `exact`: to the second, for logs. `both`: the exact time
   * and, within a day, the relative one before it. The tooltip always has the exact time.
   */
  readonly show?: "relative" | "exact" | "both";
  /** The text shown when there is no time. */
  readonly none?: string;
}

const relative = lazily(() => new Intl.RelativeTimeFormat("en", { numeric: "auto" }));
const DAY_MS = 86_400_000;

/** A time in the zone in which the pages show times. The tooltip shows it to the second, and in UTC. */
export function Time({ at, show = "relative", none = "never" }: TimeProps) {
  const now = useNow(show !== "exact");
  if (at === null || at === undefined) return <span class="muted">{none}</span>;
  const instant = new Date(at);
  const difference = instant.getTime() - now;
  const exact = `${exactText(instant)} ${zoneName(instant)}`;
  const isNear = Math.abs(difference) < DAY_MS;
  return (
    <time class="time" dateTime={at} title={`${exact}\n${utcText(instant)}`}>
      {show === "exact" && exactText(instant)}
      {show === "relative" && (isNear ? relativeText(difference) : dayText(instant))}
      {show === "both" && (
        <>
          {isNear && `${relativeText(difference)} `}
          <span class={isNear ? "time-exact" : undefined}>{exact}</span>
        </>
      )}
    </time>
  );
}

/** Matches a time in RFC 3339 and UTC. `split` keeps what the group matches, so the parts at odd indexes are times. */
const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** Returns a sentence from the server as plain text, with its RFC 3339 times as local times. */
export function timedText(text: string): string {
  return text
    .split(INSTANT)
    .map((part, index) => (index % 2 === 1 ? dayText(new Date(part)) : visibleControls(part)))
    .join("");
}

/** A sentence from the server, with its RFC 3339 times shown by `Time`: "due at 2026-…" becomes "due in 2 hours". */
export function TimedText({ text }: { readonly text: string }) {
  return (
    <span class="timed-text">
      {text
        .split(INSTANT)
        .map((part, index) => (index % 2 === 1 ? <Time at={part} /> : visibleControls(part.replace(/\bat $/, ""))))}
    </span>
  );
}

/** Returns `2026-11-22 09:04:05 UTC`. */
function utcText(instant: Date): string {
  return `${instant.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

const units = [
  ["day", DAY_MS],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** Returns `3 minutes ago` or `in 2 hours`. */
export function relativeText(differenceMs: number): string {
  for (const [unit, lengthMs] of units) {
    const count = Math.trunc(differenceMs / lengthMs);
    if (count !== 0) return relative().format(count, unit);
  }
  return "now";
}

const TICK_MS = 10_000;

/**
 * Returns the present time. Renders the component again every ten seconds if `isTicking`, so that relative times stay right.
 */
function useNow(isTicking: boolean): number {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!isTicking) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return new Date().getTime();
}
