import { useEffect } from "preact/hooks";
import { api, queries, SESSION_KEY } from "../api/api.ts";
import { resumePages } from "../api/session-end.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { adoptSession } from "./session.ts";

/** Asks to sign in again in another tab, and goes on here as soon as the same person has. */
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
    queries.setQueryData(SESSION_KEY, null);
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

/** Goes on with the page if its person has signed in. What somebody else has signed in for begins anew. */
async function goOn(personId: string): Promise<void> {
  try {
    const session = await api.session.get();
    if (session.person.id !== personId) return location.reload();
    adoptSession(session);
    await resumePages();
  } catch {
    // Not yet: the dialog stays.
  }
}
