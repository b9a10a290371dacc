import type { Webhook } from "@bikeshare/contract/console";
import type { Tone } from "../components/status.tsx";

/** Returns the state of an endpoint, as the tone of its icon and a text. */
export function endpointState(
  endpoint: Pick<Webhook, "status" | "status_text" | "failing_since">,
): readonly [tone: Tone, text: string] {
  const { status, status_text: text, failing_since: since } = endpoint;
  if (status === "paused") return ["warning", text];
  if (since === null) return ["success", text];
  // The text of an active endpoint does not say that it fails. The text of one that is probed (after a pause, one delivery
  // tests whether it works again) says more.
  return ["danger", status === "active" ? "failing" : text];
}
