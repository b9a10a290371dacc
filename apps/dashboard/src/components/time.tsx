import { useEffect, useState } from "preact/hooks";
import { visibleControls } from "./code.tsx";
import { lazily } from "./lazily.ts";
import "./time.css";

interface TimeProps {
  /** RFC 3339; nothing has happened yet where it is null. */
  readonly at: string | null | undefined;
  /** `exact` to the second; `both` with UTC on a second line; `relative` in words, with the rest on hover. */
  readonly show?: "exact" | "both" | "relative";
  /** The text shown when there is no time. */
  readonly none?: string;
}

const local = lazily(
  () =>
    new Intl.DateTimeFormat("en-GB", {
      day: "2-digit",
      month: "short",
      year: "numeric",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    }),
);
const zone = lazily(() => new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }));
const relative = lazily(() => new Intl.RelativeTimeFormat("en", { numeric: "auto" }));

/** A time in the reader's zone, with UTC beside it. */
export function Time({ at, show = "exact", none = "never" }: TimeProps) {
  const now = useNow(show === "relative");
  if (at === null || at === undefined) return <span class="muted">{none}</span>;
  const instant = new Date(at);
  const here = `${local().format(instant)} ${zoneName(instant)}`;
  const utc = utcText(instant);
  return (
    <time class="time" dateTime={at} title={`${here}\n${utc}`}>
      {show === "relative" ? relativeText(instant.getTime() - now) : local().format(instant)}
      {show === "both" && <span class="time-utc">{utc}</span>}
    </time>
  );
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A sentence of the server's as plain text, with its instants as other times are shown. */
export function timedText(text: string): string {
  return text
    .split(INSTANT)
    .map((part, index) => (index % 2 === 1 ? local().format(new Date(part)) : visibleControls(part)))
    .join("");
}

/** A sentence of the server's, in which instants are shown as other times are. */
export function TimedText({ text }: { readonly text: string }) {
  return (
    <span class="timed-text">
      {text.split(INSTANT).map((part, index) => (index % 2 === 1 ? <Time at={part} /> : visibleControls(part)))}
    </span>
  );
}

/** `2026-11-22 09:04:05 UTC` */
export function utcText(instant: Date): string {
  return `${instant.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function zoneName(instant: Date): string {
  return (
    zone()
      .formatToParts(instant)
      .find(({ type }) => type === "timeZoneName")?.value ?? ""
  );
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** `3 minutes ago`, `in 2 hours`. */
export function relativeText(differenceMs: number): string {
  for (const [unit, lengthMs] of units) {
    const count = Math.trunc(differenceMs / lengthMs);
    if (count !== 0) return relative().format(count, unit);
  }
  return "now";
}

const TICK_MS = 10_000;

/** The present, again every ten seconds, where something shows how long ago it was. */
function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(() => new Date().getTime());
  useEffect(() => {
    if (!isTicking) return undefined;
    const timer = setInterval(() => setNow(new Date().getTime()), TICK_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
