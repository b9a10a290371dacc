import type { ComponentChildren } from "preact";
import { ErrorState } from "../../components/error-state.tsx";
import { Time } from "../../components/time.tsx";
import { RangePicker, type RangePickerProps } from "./range-picker.tsx";

interface RangeCardProps extends RangePickerProps {
  /** What is shown over time: "Deliveries over time". */
  readonly title: string;
  readonly query: {
    readonly data: unknown;
    readonly error: Error | null;
    readonly refetch: () => Promise<unknown>;
  };
  readonly children: ComponentChildren;
}

/**
 * A card with a chart and a picker for its range. The picker stays usable when a range cannot be read, such as one of twenty
 * years.
 */
export function RangeCard({ title, query: { data, error, refetch }, children, ...picker }: RangeCardProps) {
  return (
    <section class="card over-time" aria-labelledby="over-time">
      <h2 id="over-time" class="visually-hidden">
        {title}
      </h2>
      <RangePicker {...picker} />
      {data === undefined && error !== null ? <ErrorState error={error} onRetry={() => void refetch()} /> : children}
    </section>
  );
}

interface CountedNoteProps {
  /** The time from which events are counted. Undefined or null: everything is counted. */
  readonly from: string | null | undefined;
  readonly children: string;
}

/** Says what a chart counts or, if there is too much to count all, from when it counts. */
export function CountedNote({ from, children }: CountedNoteProps) {
  if (!from) return children;
  return (
    <>
      Counted back to <Time at={from} />: there are too many before.
    </>
  );
}
