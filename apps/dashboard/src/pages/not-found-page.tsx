import { ButtonLink } from "../components/button.tsx";
import { EmptyState } from "../components/empty-state.tsx";

/** The page for unknown addresses. */
export function NotFoundPage() {
  return (
    <EmptyState isPage title="Page not found" action={<ButtonLink href="/">Go to the overview</ButtonLink>}>
      The link may be incomplete, or you may not be a member of what it shows.
    </EmptyState>
  );
}
