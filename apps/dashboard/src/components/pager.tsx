import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import "./pager.css";

interface PagerProps {
  /** A summary of the shown rows: "50 deliveries". Empty if the summary is beside the filters. */
  readonly summary: string;
  readonly onPrevious?: (() => void) | undefined;
  readonly onNext?: (() => void) | undefined;
  readonly isPending?: boolean;
  /** Whether the list is sorted by time, newest first. Otherwise it is sorted by id. The buttons are named accordingly. */
  readonly isByTime?: boolean;
}

/** Buttons to the next and previous page of a list with cursors. The previous page is the one seen before. */
export function Pager({ summary, onPrevious, onNext, isPending = false, isByTime = true }: PagerProps) {
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span class="muted" role="status">
        {summary}
      </span>
      {(onPrevious !== undefined || onNext !== undefined) && (
        <span class="row">
          <Button disabled={onPrevious === undefined} onClick={() => onPrevious?.()}>
            <Icon name="chevronLeft" /> {isByTime ? "Newer" : "Previous"}
          </Button>
          <Button disabled={onNext === undefined} pending={isPending} onClick={() => onNext?.()}>
            {isByTime ? "Older" : "Next"} <Icon name="chevronRight" />
          </Button>
        </span>
      )}
    </nav>
  );
}
