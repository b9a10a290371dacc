import { StatusMark } from "./status.tsx";

interface LiveButtonProps {
  readonly isLive: boolean;
  readonly onLive: (isLive: boolean) => void;
}

/** Lets a list follow what happens, or stand still. */
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
