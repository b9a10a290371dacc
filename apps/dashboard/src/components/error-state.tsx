import { describeError } from "../api/errors.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import "./state.css";

interface ErrorStateProps {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}

/** What stands where something could not be loaded: what went wrong, what to do, and the id to quote. */
export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { title, message, requestId } = describeError(error);
  return (
    <div class="state" role="alert">
      <h2>{title}</h2>
      <p class="muted">{message}</p>
      {requestId !== undefined && (
        <p class="row muted">
          Request-Id <code class="mono">{requestId}</code> <CopyButton text={requestId} label="Copy Request-Id" />
        </p>
      )}
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
