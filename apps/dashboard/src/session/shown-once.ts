import { useEffect, useState } from "preact/hooks";
import { useSession } from "./session.ts";

/**
 * The state of what is shown once, such as a key just made. It is gone as soon as the session has ended: a page that is kept
 * for its person would have it for whoever sits there.
 */
export function useShownOnce<Shown>() {
  const [shown, setShown] = useState<Shown>();
  const hasEnded = useSession().data?.hasEnded === true;
  useEffect(() => {
    if (hasEnded) setShown(undefined);
  }, [hasEnded, shown]);
  return [hasEnded ? undefined : shown, setShown] as const;
}
