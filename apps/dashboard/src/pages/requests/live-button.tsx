import { useEffect, useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { StatusMark } from "../../components/status.tsx";

interface Live {
  readonly isLive: boolean;
  /**
   * Why the live updates are paused: the reader pressed the button (`reader`) or has scrolled down (`scroll`), or the page
   * shows older rows or one row's panel (`page`). Undefined: they are not paused.
   */
  readonly pausedBy: "reader" | "scroll" | "page" | undefined;
  readonly toggle: () => void;
}

/** Pixels. A reader who has scrolled down further is reading, so new rows must not move the list. */
const READING_PX = 200;

/**
 * Tells whether a list is updated with new rows. The updates pause while the reader has scrolled down.
 * @param isPossible whether the list shows the newest rows, and no row is open
 */
export function useIsLive(isPossible: boolean): Live {
  const [isWanted, setWanted] = useState(true);
  const [isScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const update = () => setScrolled(scrollY > READING_PX);
    addEventListener("scroll", update, { passive: true });
    return () => removeEventListener("scroll", update);
  }, []);
  const pausedBy = pauseOf(isWanted, isPossible, isScrolled);
  return { isLive: pausedBy === undefined, pausedBy, toggle: () => setWanted(!isWanted) };
}

function pauseOf(isWanted: boolean, isPossible: boolean, isScrolled: boolean): Live["pausedBy"] {
  if (!isWanted) return "reader";
  if (!isPossible) return "page";
  return isScrolled ? "scroll" : undefined;
}

const texts = {
  reader: "Paused",
  scroll: "Paused while you read",
  page: "Not live: older requests are shown",
} as const;

/**
 * A button that shows whether the list of requests is updated with new rows, and pauses the updates. Unlike the button in
 * components/live-button.tsx, it says why they are paused.
 */
export function LiveButton({ live: { pausedBy, toggle } }: { readonly live: Live }) {
  return (
    <Button onClick={toggle} disabled={pausedBy === "page"}>
      <StatusMark tone={pausedBy === undefined ? "success" : "neutral"} />
      {pausedBy === undefined ? "Live: pause" : texts[pausedBy]}
      {pausedBy === "reader" && ": go on"}
    </Button>
  );
}
