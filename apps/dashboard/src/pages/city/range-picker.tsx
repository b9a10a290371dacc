import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import {
  neighbour,
  type Period,
  periods,
  type RangeParameters,
  rangeText,
  readRange,
  type TimeRange,
} from "./range.ts";
import "./range.css";

/** Returns the range from the address, and functions that change it. */
export function useRange(timeZone: string, now: number) {
  const url = useUrlState();
  const parameters: RangeParameters = {
    range: url.get("range"),
    to: url.get("to"),
    since: url.get("since"),
    until: url.get("until"),
  };
  const range = readRange(parameters, timeZone, now);
  const set = (next: Partial<RangeParameters>) => url.filter({ range: "", to: "", since: "", until: "", ...next });
  return {
    range,
    /** Sets the range. Parameters that are not given are removed from the address. */
    set,
    /** Sets the range that the reader has selected in a chart. */
    narrow: (since: string, until: string) => set({ since, until }),
  };
}

const periodLabels: Readonly<Record<Period, string>> = { day: "Day", week: "Week", month: "Month", year: "Year" };

export interface RangePickerProps {
  readonly range: TimeRange;
  readonly timeZone: string;
  readonly now: number;
  readonly onChange: (next: Partial<RangeParameters>) => void;
  /** The periods to offer; undefined: all. */
  readonly offered?: readonly Period[];
}

/** Chooses the range of all charts of a page: a period that ends today, or an earlier one. */
export function RangePicker({ range, timeZone, now, onChange, offered = periods }: RangePickerProps) {
  const before = neighbour(range, -1, timeZone, now);
  const after = neighbour(range, 1, timeZone, now);
  return (
    <div class="range-picker" role="group" aria-label="Time shown">
      <div class="range-periods">
        {offered.map((period) => (
          <button
            key={period}
            type="button"
            aria-pressed={range.period === period}
            // A day is the default, so the address does not name it.
            onClick={() => onChange({ range: period === "day" ? "" : period })}
          >
            {periodLabels[period]}
          </button>
        ))}
      </div>
      <Button
        variant="quiet"
        label="Earlier"
        disabled={before === undefined}
        onClick={() => before && onChange(before)}
      >
        <Icon name="chevronLeft" />
      </Button>
      <span class="range-name">{rangeText(range, timeZone)}</span>
      <Button variant="quiet" label="Later" disabled={after === undefined} onClick={() => after && onChange(after)}>
        <Icon name="chevronRight" />
      </Button>
    </div>
  );
}
