import { useEffect, useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { StatusMark } from "../../components/status.tsx";

interface Live {
  readonly isLive: boolean;
  /** The reason why it is paused; undefined: it is not. */
  readonly pausedBy: "reader" | "scroll" | "page" | undefined;
  readonly toggle: () => void;
}

/** A list that is scrolled further than this is being read: new rows must not push it away. */
const READING_PX = 200;

/**
 * Tells whether a list follows new rows. It pauses while the reader has scrolled down.
 * @param isPossible the newest rows are shown
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

/** Shows whether a list follows new rows, and pauses it. */
export function LiveButton({ live: { pausedBy, toggle } }: { readonly live: Live }) {
  return (
    <Button onClick={toggle} disabled={pausedBy === "page"}>
      <StatusMark tone={pausedBy === undefined ? "success" : "neutral"} />
      {pausedBy === undefined ? "Live: pause" : texts[pausedBy]}
      {pausedBy === "reader" && ": go on"}
    </Button>
  );
}
