import "./state.css";
import "./table.css";

interface LoadingProps {
  readonly label?: string;
}

/** The placeholder of a page or a part that is loading: lines where its title and text will be. */
export function Loading({ label = "Loading …" }: LoadingProps) {
  return (
    <div class="loading skeleton" role="status">
      <span class="visually-hidden">{label}</span>
      <span class="skeleton-line" />
      <span class="skeleton-line" />
      <span class="skeleton-line" />
      <span class="skeleton-line" />
    </div>
  );
}
