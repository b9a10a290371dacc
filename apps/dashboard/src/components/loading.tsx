import "./state.css";

interface LoadingProps {
  readonly label?: string;
}

/** The placeholder of something that is loading. Appears after a moment only: most answers are faster. */
export function Loading({ label = "Loading …" }: LoadingProps) {
  return (
    <div class="state loading" role="status">
      <span class="spinner" />
      <p class="muted">{label}</p>
    </div>
  );
}
