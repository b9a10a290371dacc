import { useEffect, useState } from "preact/hooks";

/** The width from which the page of a row is shown beside its list. */
const WIDE = "(width >= 84rem)";

/** Tells whether the window is wide enough for a list and the page of one of its rows. */
export function useIsWide(): boolean {
  const [isWide, setWide] = useState(() => matchMedia(WIDE).matches);
  useEffect(() => {
    const query = matchMedia(WIDE);
    const update = () => setWide(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return isWide;
}
