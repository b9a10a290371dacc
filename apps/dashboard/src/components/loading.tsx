import "./state.css";

interface LoadingProps {
  readonly label?: string;
}

/** What stands until something has been loaded. Shown after a moment only: most answers are faster. */
export function Loading({ label = "Loading …" }: LoadingProps) {
  return (
    <div class="state loading" role="status">
      <span class="spinner" />
      <p class="muted">{label}</p>
    </div>
  );
}
