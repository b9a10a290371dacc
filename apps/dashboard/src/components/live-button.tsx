import { StatusMark } from "./status.tsx";

interface LiveButtonProps {
  readonly isLive: boolean;
  readonly onLive: (isLive: boolean) => void;
}

/** A button that switches the live updates of a list on or off. */
export function LiveButton({ isLive, onLive }: LiveButtonProps) {
  return (
    <button
      type="button"
      class="button button-secondary quick-filter"
      aria-pressed={isLive}
      onClick={() => onLive(!isLive)}
    >
      <StatusMark tone={isLive ? "success" : "neutral"} />
      Live
    </button>
  );
}
