import type { Connection } from "../api/connection.ts";
import { useIsLost } from "../api/connection.ts";

/** Says that the server cannot be reached, for as long as it cannot. */
export function ConnectionNotice({ connection }: { readonly connection: Connection }) {
  const isLost = useIsLost(connection);
  return (
    // It always exists: screen readers announce only changes inside it.
    <div role="status" class="connection">
      {isLost && (
        <p class="connection-lost">
          <span class="spinner" />
          Connection lost. What you see may be old; trying again …
        </p>
      )}
    </div>
  );
}
