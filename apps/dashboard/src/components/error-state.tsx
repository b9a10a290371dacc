import { describeError } from "../api/errors.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";
import "./state.css";

interface ErrorStateProps {
  readonly error: unknown;
  /** Whether nothing else is on the page. The title is then the heading of the page (`h1`). */
  readonly isPage?: boolean;
  readonly onRetry?: (() => void) | undefined;
}

/**
 * The placeholder of something that failed to load: the error, a way to retry, and the request id to quote to the operator.
 */
export function ErrorState({ error, isPage = false, onRetry }: ErrorStateProps) {
  const { title, message, requestId } = describeError(error);
  return (
    <div class="state" role="alert">
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
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
