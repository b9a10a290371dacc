import type { LoggedRequest } from "@bikeshare/contract/console";
import { Status, type Tone } from "../../components/status.tsx";

/** The status of a request. */
export function RequestStatus({ request: { status } }: { readonly request: LoggedRequest }) {
  return <Status tone={toneOf(status)}>{status}</Status>;
}

function toneOf(status: number): Tone {
  if (status >= 500) return "danger";
  if (status >= 400) return "warning";
  return status >= 300 ? "neutral" : "success";
}
