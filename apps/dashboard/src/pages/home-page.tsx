import { Redirect } from "wouter-preact";
import { EmptyState } from "../components/empty-state.tsx";
import { listedPages, pageAddress } from "../membership-pages.ts";
import { useSignedIn } from "../session/session.ts";

/** The page at `/dashboard`. It redirects to the first page of the reader's first membership. */
export function HomePage() {
  const { memberships, needs_proof: needsProof, person } = useSignedIn();
  const [membership] = memberships;
  const [page] = membership === undefined ? [] : listedPages(membership);
  if (membership !== undefined && page !== undefined) {
    return <Redirect to={pageAddress(page, membership, memberships)} replace />;
  }
  if (needsProof) {
    return (
      <EmptyState isPage title="Your address is not verified">
        You belong to the operator, whose pages open once you have proved that {person.email} is yours: accept an
        invitation of the operator, which the command <code>bikeshare console invite --operator --email</code> makes.
      </EmptyState>
    );
  }
  return (
    <EmptyState isPage title="You are not a member of any partner">
      Your membership was removed. Ask for a new invitation.
    </EmptyState>
  );
}
