import { useEffect, useState } from "preact/hooks";
import { useSession } from "./session.ts";

/**
 * State for a secret that is shown once, such as a key just created. The state is cleared when the session ends, because the
 * page may be kept, and somebody else may use the browser.
 */
export function useShownOnce<Shown>() {
  const [shown, setShown] = useState<Shown>();
  const hasEnded = useSession().data?.hasEnded === true;
  useEffect(() => {
    if (hasEnded) setShown(undefined);
  }, [hasEnded, shown]);
  return [hasEnded ? undefined : shown, setShown] as const;
}
