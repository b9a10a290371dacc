import type { ComponentChildren } from "preact";
import "./state.css";

interface EmptyStateProps {
  readonly title: string;
  /** Why there is nothing, and what would change that. */
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}

/** What stands where there is nothing to show. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div class="state">
      <h3>{title}</h3>
      {children !== undefined && <div class="muted">{children}</div>}
      {action}
    </div>
  );
}
