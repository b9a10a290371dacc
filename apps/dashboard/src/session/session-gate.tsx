import type { ComponentChildren } from "preact";
import { Redirect, useLocation, useSearch } from "wouter-preact";
import { EmptyState } from "../components/empty-state.tsx";
import { ErrorState } from "../components/error-state.tsx";
import { Loading } from "../components/loading.tsx";
import { isEmbedded } from "../embedding.ts";
import { EndedDialog } from "./ended-dialog.tsx";
import { useSession } from "./session.ts";

/**
 * Shows its children to people who are signed in. Redirects others to the sign-in page, and back afterwards. If the session
 * ends while a page has unsaved input, the page is hidden until the same person signs in again. The session is null when
 * nobody is signed in, and undefined until the server has answered.
 */
export function SessionGate({ children }: { readonly children: ComponentChildren }) {
  const { data: session, error, refetch } = useSession();
  const [path] = useLocation();
  const search = useSearch();
  if (session === null && isEmbedded) {
    return (
      <EmptyState isPage title="The dashboard was closed">
        It stays open for an hour at a time. Open it again in the portal that shows it.
      </EmptyState>
    );
  }
  if (session === null) {
    const next = search === "" ? path : `${path}?${search}`;
    return <Redirect to={next === "/" ? "/sign-in" : `/sign-in?next=${encodeURIComponent(next)}`} replace />;
  }
  if (session !== undefined) {
    const hasEnded = session.hasEnded === true;
    return (
      <>
        <div class="session-page" hidden={hasEnded}>
          {children}
        </div>
        {hasEnded && <EndedDialog personId={session.person.id} />}
      </>
    );
  }
  return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
}
