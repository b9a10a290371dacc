import { ButtonLink } from "../components/button.tsx";
import { EmptyState } from "../components/empty-state.tsx";

/** What stands at an address that no page has. */
export function NotFoundPage() {
  return (
    <EmptyState isPage title="There is no such page" action={<ButtonLink href="/">To the first page</ButtonLink>}>
      The link may be incomplete, or be for something that you are no member of.
    </EmptyState>
  );
}
