import { useEffect } from "preact/hooks";
import { api, queries, SESSION_KEY } from "../api/api.ts";
import { resumePages } from "../api/session-end.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { adoptSession } from "./session.ts";

/**
 * A dialog over a page whose session has ended. It asks the person to sign in again in another tab, and shows the page again
 * once they have.
 */
export function EndedDialog({ personId }: { readonly personId: string }) {
  useEffect(() => {
    const look = () => void (document.visibilityState === "visible" && goOn(personId));
    addEventListener("focus", look);
    addEventListener("visibilitychange", look);
    return () => {
      removeEventListener("focus", look);
      removeEventListener("visibilitychange", look);
    };
  }, [personId]);
  const giveUp = () => {
    // Null: nobody is signed in. `SessionGate` then leads to the sign-in page.
    queries.setQueryData(SESSION_KEY, null);
    // The end of the session has stopped all refreshes, which the pages after the next sign-in need.
    return resumePages();
  };
  return (
    <main>
      <h1 class="visually-hidden">Signed out</h1>
      <Dialog
        title="Your session has ended"
        isOpen
        onClose={() => void giveUp()}
        actions={
          <>
            <Button variant="quiet" onClick={() => void giveUp()}>
              Leave without it
            </Button>
            <a class="button button-primary" href={`${import.meta.env.BASE_URL}sign-in`} target="_blank" rel="noopener">
              Sign in in a new tab
            </a>
          </>
        }
      >
        <p>What you typed is kept here, without secrets. Sign in, and come back to this tab.</p>
      </Dialog>
    </main>
  );
}

/** Shows the page again if the same person has signed in. If somebody else has, reloads the page. */
async function goOn(personId: string): Promise<void> {
  try {
    const session = await api.session.get();
    if (session.person.id !== personId) return location.reload();
    adoptSession(session);
    await resumePages();
  } catch {
    // Nobody has signed in yet, or the server cannot be reached: the dialog stays.
  }
}
