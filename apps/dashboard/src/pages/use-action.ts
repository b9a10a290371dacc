import { useRef, useState } from "preact/hooks";
import { submission } from "../api/session-end.ts";
import { showToast } from "../components/toast.tsx";
import { ConfirmationCancelled, withConfirmation } from "../session/confirmation.tsx";

/**
 * Returns `run` and `isPending`. `run` runs an action whose requests may need a confirmation, and returns whether the
 * action succeeded; the message of a failure is shown until the next try. `isPending` says whether an action is running.
 */
export function useAction() {
  const [isPending, setIsPending] = useState(false);
  const closeFailure = useRef<(() => void) | undefined>(undefined);
  const run = async (work: () => Promise<void>): Promise<boolean> => {
    setIsPending(true);
    closeFailure.current?.();
    // Called before the first `await`, because it finds the form whose `submit` event is being handled.
    const markAsSaved = submission();
    try {
      await withConfirmation(work);
      markAsSaved();
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
