import type { ShownPartner } from "@bikeshare/contract/console";
import { lookUp } from "../../components/look-up.ts";
import { Status, type Tone } from "../../components/status.tsx";

/** The tones of the statuses of partners and of webhooks. */
const tones: Readonly<Record<string, Tone>> = {
  active: "success",
  suspended: "warning",
  paused: "warning",
  probing: "progress",
  removed: "neutral",
};

/** The status of a partner. */
export function PartnerStatus({ partner: { status } }: { readonly partner: Pick<ShownPartner, "status"> }) {
  return withTone(status);
}

/** The most troubled status among a partner's webhooks: paused, then probing. Null: the partner has no webhook. */
export function EndpointStatus({ status }: { readonly status: string | null }) {
  if (status === null) return <span class="muted">none</span>;
  return withTone(status);
}

function withTone(status: string) {
  return <Status tone={lookUp(tones, status) ?? "neutral"}>{status}</Status>;
}
