import { useEffect, useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { CLOCK, cityText, DATE, dayOf, daysLater, dayStart } from "./times.ts";

/** The distance between two positions of the slider. */
const STEP_MS = 15 * 60_000;
/** Milliseconds for which the slider must rest before the stations at its instant are read. */
const REST_MS = 120;
/** Milliseconds between two instants while a day is played. */
const PLAY_MS = 350;

/** Returns the instant from the address (undefined: now), and a function that changes it. */
export function useInstant(): readonly [string | undefined, (at: string | undefined) => void] {
  const url = useUrlState();
  const given = Date.parse(url.get("at"));
  // The comparison is false, which means now, if the address has no instant (NaN) or one in the future.
  const at = given < new Date().getTime() ? new Date(given).toISOString() : undefined;
  // The address has the instant to the minute: `2026-11-26T08:45Z`.
  return [at, (next) => url.filter({ at: next?.slice(0, 16).concat("Z") ?? "" })];
}

interface RewindProps {
  readonly at: string | undefined;
  readonly timeZone: string;
  readonly onChange: (at: string | undefined) => void;
}

/**
 * Returns the positions of the slider: one for each quarter of an hour of the shown day. Today's last position is now.
 * `start` is when the day begins, `last` the index of the last position, and `given` the position of `at`.
 */
function positionsOf(at: string | undefined, timeZone: string) {
  const now = new Date().getTime();
  const shown = at === undefined ? now : Date.parse(at);
  const day = dayOf(shown, timeZone);
  const isToday = day === dayOf(now, timeZone);
  const start = dayStart(day, timeZone);
  const end = isToday ? now : dayStart(daysLater(day, 1), timeZone) - STEP_MS;
  // The index of the last position. Today has one more than its quarters: now.
  const last = Math.floor((end - start) / STEP_MS) + (isToday ? 1 : 0);
  const given = at === undefined ? last : Math.min(last, Math.max(0, Math.round((shown - start) / STEP_MS)));
  return {
    isToday,
    start,
    last,
    given,
    instantOf: (position: number) =>
      isToday && position >= last ? undefined : new Date(start + position * STEP_MS).toISOString(),
    /**
     * Moves the shown instant by `count` days: returns the one with the same distance from its day's start, in full quarters
     * of an hour. If the clocks change on one of the days, the time of day may differ by an hour. Undefined if that is in the
     * future: the map then shows now.
     */
    onDay: (count: number) => {
      const other = dayStart(daysLater(day, count), timeZone);
      const length = dayStart(daysLater(day, count + 1), timeZone) - other;
      // A day on which the clocks change may be shorter: its last quarter stands in for later times.
      const next = other + Math.floor(Math.min(shown - start, length - STEP_MS) / STEP_MS) * STEP_MS;
      return next >= now ? undefined : new Date(next).toISOString();
    },
  };
}

/** A slider through a day of the city, in quarters of an hour. On today's slider, the end is now. */
export function Rewind({ at, timeZone, onChange }: RewindProps) {
  const positions = positionsOf(at, timeZone);
  const { last, instantOf } = positions;
  const [position, setPosition] = useResting(positions.given, (next) => onChange(instantOf(next)));
  const [isPlaying, setPlaying] = usePlaying(position, last, setPosition);
  const shownAt = instantOf(position);
  const text = shownAt === undefined ? "Now" : cityText(shownAt, timeZone, CLOCK);
  // A click counts more than a move of the slider that has not rested yet.
  const goTo: RewindProps["onChange"] = (next) => {
    setPosition(undefined);
    onChange(next);
  };
  return (
    <div class="rewind" role="group" aria-label="Rewind">
      <Button
        variant="quiet"
        label={isPlaying ? "Stop" : "Play the day"}
        onClick={() => {
          if (!isPlaying && position >= last) setPosition(0);
          setPlaying(!isPlaying);
        }}
      >
        <Icon name={isPlaying ? "pause" : "play"} />
      </Button>
      <input
        type="range"
        aria-label="Time of day"
        aria-valuetext={text}
        min={0}
        max={last}
        step={1}
        value={position}
        onInput={({ currentTarget: { value } }) => {
          setPlaying(false);
          setPosition(Number(value));
        }}
      />
      <output class="rewind-time">{text}</output>
      <DayChooser positions={positions} timeZone={timeZone} onChange={goTo} />
      {/* The button is always rendered, so that the slider keeps its length while it is dragged. */}
      <Button disabled={at === undefined} onClick={() => goTo(undefined)}>
        Back to now
      </Button>
    </div>
  );
}

interface DayChooserProps extends Pick<RewindProps, "timeZone" | "onChange"> {
  readonly positions: ReturnType<typeof positionsOf>;
}

function DayChooser({ positions: { isToday, start, onDay }, timeZone, onChange }: DayChooserProps) {
  return (
    <span class="rewind-day">
      <Button variant="quiet" label="The day before" onClick={() => onChange(onDay(-1))}>
        <Icon name="chevronLeft" />
      </Button>
      <span>{isToday ? "Today" : cityText(start, timeZone, DATE)}</span>
      <Button variant="quiet" label="The day after" disabled={isToday} onClick={() => onChange(onDay(1))}>
        <Icon name="chevronRight" />
      </Button>
    </span>
  );
}

/**
 * Returns the position of the slider and a function that moves it (undefined: back to `given`). A move is shown at once. When
 * the slider has rested for `REST_MS` at another position than `given`, `act` is called. It changes the address, and so
 * `given`. The move is then forgotten.
 */
function useResting(
  given: number,
  act: (position: number) => void,
): readonly [number, (position: number | undefined) => void] {
  const [moved, setMoved] = useState<number>();
  useEffect(() => {
    if (moved === undefined) return undefined;
    const timer = setTimeout(() => (moved === given ? setMoved(undefined) : act(moved)), REST_MS);
    return () => clearTimeout(timer);
  }, [moved]);
  useEffect(() => setMoved(undefined), [given]);
  return [moved ?? given, setMoved];
}

/** Moves the slider to the next position every `PLAY_MS` while it plays, until the last one. */
function usePlaying(position: number, last: number, show: (position: number) => void) {
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (position >= last) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => show(position + 1), PLAY_MS);
    return () => clearTimeout(timer);
  }, [isPlaying, position]);
  return [isPlaying, setPlaying] as const;
}
