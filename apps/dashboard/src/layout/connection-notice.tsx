import type { Connection } from "../api/connection.ts";
import { useIsLost } from "../api/connection.ts";

/** Shows a notice while the server cannot be reached. */
export function ConnectionNotice({ connection }: { readonly connection: Connection }) {
  const isLost = useIsLost(connection);
  return (
    // The element always exists, because screen readers announce only changes inside an existing one.
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
