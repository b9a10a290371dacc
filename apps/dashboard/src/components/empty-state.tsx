import type { ComponentChildren } from "preact";
import "./state.css";

interface EmptyStateProps {
  readonly title: string;
  /** Whether nothing else is on the page. The title is then the heading of the page (`h1`). */
  readonly isPage?: boolean;
  /** The reason why there is nothing, and how to change that. */
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}

/** The placeholder of an empty list or page. */
export function EmptyState({ title, isPage = false, children, action }: EmptyStateProps) {
  return (
    <div class="state">
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children !== undefined && <div class="muted">{children}</div>}
      {action}
    </div>
  );
}
