import { Redirect } from "wouter-preact";
import { EmptyState } from "../components/empty-state.tsx";
import { listedPages, pageAddress } from "../membership-pages.ts";
import { useSignedIn } from "../session/session.ts";

/** `/dashboard` itself: leads to the first page of the reader's first membership. */
export function HomePage() {
  const { memberships } = useSignedIn();
  const [membership] = memberships;
  const [page] = membership === undefined ? [] : listedPages(membership);
  if (membership !== undefined && page !== undefined) {
    return <Redirect to={pageAddress(page, membership, memberships)} replace />;
  }
  return (
    <EmptyState isPage title="You are signed in, and a member of nothing">
      Ask whoever invited you for a new invitation: the membership that came with it has been taken back.
    </EmptyState>
  );
}
