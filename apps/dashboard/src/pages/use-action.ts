import { useRef, useState } from "preact/hooks";
import { submission } from "../api/session-end.ts";
import { showToast } from "../components/toast.tsx";
import { ConfirmationCancelled, withConfirmation } from "../session/confirmation.tsx";

/**
 * Returns a function that runs an action with requests that may need a confirmation, and whether an action is running. The
 * function returns whether the action succeeded. A failure is shown until the next try.
 */
export function useAction() {
  const [isPending, setIsPending] = useState(false);
  const closeFailure = useRef<(() => void) | undefined>(undefined);
  const run = async (work: () => Promise<void>): Promise<boolean> => {
    setIsPending(true);
    closeFailure.current?.();
    const isSaved = submission();
    try {
      await withConfirmation(work);
      isSaved();
      return true;
    } catch (error) {
      // No message is needed: the user has closed the confirmation dialog.
      if (!(error instanceof ConfirmationCancelled))
        closeFailure.current = showToast("danger", error instanceof Error ? error.message : String(error));
      return false;
    } finally {
      setIsPending(false);
    }
  };
  return { run, isPending };
}
