import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import "./pager.css";

interface PagerProps {
  /** A summary of the shown rows: "50 deliveries". Empty: it stands beside the filters. */
  readonly summary: string;
  readonly onPrevious?: (() => void) | undefined;
  readonly onNext?: (() => void) | undefined;
  readonly isPending?: boolean;
  /** Lists in the order of ids have pages before and after; all others begin with the newest. */
  readonly isByTime?: boolean;
}

/** Leads through a list by cursors: to the next page, and back to those already seen. */
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
