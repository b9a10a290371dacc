import type { EndpointSummary } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { api, queries } from "../../api/api.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Menu, MenuItem } from "../../components/menu.tsx";
import { showToast } from "../../components/toast.tsx";
import { addressIn, type PageScope } from "../scope.ts";
import { useAction } from "../use-action.ts";

interface EndpointActionsProps {
  readonly scope: PageScope;
  readonly endpoint: EndpointSummary;
}

/** The operator's actions on an endpoint in the list. */
export function EndpointActions({ scope, endpoint }: EndpointActionsProps) {
  const { run, isPending } = useAction();
  const request = {
    params: { system_id: scope.systemId, partner_id: endpoint.partner_id },
    query: { endpoint_id: endpoint.id },
    body: {},
  };
  const act = (work: () => Promise<unknown>, outcome: string) =>
    void run(async () => {
      await work();
      await queries.invalidateQueries({ queryKey: ["endpoints"] });
      showToast("success", outcome);
    });
  const page = endpointAddress(scope, endpoint);
  const name = `${endpoint.partner_name} (${endpoint.name})`;
  const { status, pause_reason: reason } = endpoint;
  return (
    <div class="row">
      <Resume
        endpoint={endpoint}
        href={page}
        isPending={isPending}
        onResume={() => act(() => api.endpoints.resume(request), `${name} is sent to again.`)}
      />
      <Menu label={`More actions for ${name}`} button={<Icon name="more" />}>
        {status !== "paused" && (
          <MenuItem onSelect={() => act(() => api.endpoints.retryNow(request), `What waits for ${name} is sent now.`)}>
            Retry now
          </MenuItem>
        )}
        <Link href={page}>Settings</Link>
        {reason !== "operator" && (
          <MenuItem
            isDangerous
            onSelect={() => act(() => api.endpoints.pause(request), `Nothing more is sent to ${name}.`)}
          >
            Stop
          </MenuItem>
        )}
      </Menu>
    </div>
  );
}

/** Returns the address of an endpoint's page. */
export function endpointAddress(scope: PageScope, { id, partner_id: partnerId }: EndpointSummary): string {
  return addressIn(scope, `endpoints/${encodeURIComponent(partnerId)}`, { endpoint: id });
}

interface ResumeProps {
  readonly endpoint: EndpointSummary;
  /** The address of the endpoint's page, which asks what to do with held deliveries. */
  readonly href: string;
  readonly isPending: boolean;
  readonly onResume: () => void;
}

/**
 * A button that resumes a paused endpoint. If deliveries are held (they wait because the endpoint is or was paused), it is a
 * link to the endpoint's page instead, which asks whether to send or drop them. An endpoint that is not paused and has held
 * deliveries has such a link too, unless deliveries are being sent again (`is_replaying`).
 */
function Resume({ endpoint: { status, held, is_replaying: isReplaying }, href, isPending, onResume }: ResumeProps) {
  if (status !== "paused")
    return held > 0 && !isReplaying ? <ButtonLink href={href}>Send or drop held</ButtonLink> : null;
  if (held > 0) return <ButtonLink href={href}>Resume</ButtonLink>;
  return (
    <Button pending={isPending} onClick={onResume}>
      Resume
    </Button>
  );
}
