import type { Webhook } from "@bikeshare/contract/console";
import type { Tone } from "../components/status.tsx";

/** How an endpoint does, as a mark. */
export function endpointTone({ status, failing_since: since }: Pick<Webhook, "status" | "failing_since">): Tone {
  if (status === "paused") return "warning";
  return since === null ? "success" : "danger";
}
