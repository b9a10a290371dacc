import type { ShownPartner } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { Link, useParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { useAction } from "../use-action.ts";
import { KeyAllowanceDialog } from "./key-allowance-dialog.tsx";
import { PartnerDialog, RemoveDialog, showPartner, SuspendDialog } from "./partner-dialogs.tsx";
import { EndpointStatus, PartnerStatus } from "./partner-status.tsx";

/** The partner's own pages, which the operator's people may read. */
const partnerPages = [
  ["overview", "Overview"],
  ["webhook", "Webhook"],
  ["deliveries", "Deliveries"],
  ["keys", "Keys"],
  ["requests", "Requests"],
  ["stations", "Stations"],
  ["audit", "Audit log"],
  ["people", "People"],
] as const;

/** The operator's page of one partner. */
export function PartnerPage() {
  const access = useOperatorAccess();
  const { partner_id: id } = useParams<{ partner_id: string }>();
  const systemId = access?.systemId ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["partner", systemId, id],
    queryFn: ({ signal }) => api.partners.get({ params: { system_id: systemId, partner_id: id }, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined) return <NotFoundPage />;
  if (data === undefined)
    return error === null ? <Loading /> : <ErrorState isPage error={error} onRetry={() => void refetch()} />;
  const canChange = access.canChange && data.status !== "removed";
  return (
    <div class="stack">
      <PageHeader title={data.name} actions={canChange && <Actions systemId={systemId} partner={data} />}>
        <span class="row">
          <span class="mono">{data.id}</span>
          <CopyButton text={data.id} label="Copy the partner’s id" />
        </span>
      </PageHeader>
      <StatusNotice partner={data} />
      <PartnerFacts partner={data} />
      {data.status !== "removed" && <PartnerPages id={id} />}
    </div>
  );
}

function StatusNotice({ partner }: { readonly partner: ShownPartner }) {
  if (partner.status === "active") return null;
  return partner.status === "suspended" ? (
    <Notice tone="warning" title="Suspended">
      Since <Time at={partner.suspended_at} />: its keys are refused and its deliveries are held.
    </Notice>
  ) : (
    <Notice tone="neutral" title="Removed">
      On <Time at={partner.removed_at} />, for good. Its past reservations and the logs stay.
    </Notice>
  );
}

function PartnerFacts({ partner }: { readonly partner: ShownPartner }) {
  const { active_reservations: active, max_reservations: most } = partner;
  const { link } = useUrlState();
  const webhook = <EndpointStatus status={partner.endpoint_status} />;
  const endpoint = link(`/operator/endpoints/${encodeURIComponent(partner.id)}`);
  const limit = `${active.toLocaleString("en")} of ${most.toLocaleString("en")}`;
  return (
    <Facts
      facts={[
        ["Status", <PartnerStatus partner={partner} />],
        ["Webhook", partner.status === "removed" ? webhook : <Link href={endpoint}>{webhook}</Link>],
        ["Active reservations", partner.has_own_max_reservations ? limit : `${limit} (the default)`],
        ["Keys that work", partner.active_keys],
        ["Keys its admins may create", allowanceText(partner)],
        ["Requests today", partner.requests_today.toLocaleString("en")],
        ["Created", <Time at={partner.created_at} show="both" />],
      ]}
    />
  );
}

/** Returns how much of their allowance a partner's people have used; null: they have none. */
function allowanceText({
  key_allowance: allowance,
  own_keys: keys,
  own_rate_limit: rate,
}: ShownPartner): string | null {
  if (allowance === null) return keys === 0 ? null : `none; ${keys} made before still work`;
  const rates = `${rate.toLocaleString("en")} of ${allowance.rate_limit.toLocaleString("en")} requests per minute`;
  return `${keys} of ${allowance.keys}, ${rates}`;
}

function PartnerPages({ id }: { readonly id: string }) {
  const { link } = useUrlState();
  return (
    <section class="stack" aria-labelledby="its-pages">
      <div>
        <h2 id="its-pages">The partner’s view</h2>
        <p class="muted">
          Opens the partner’s pages, read-only. Your visit is in the audit log, which the partner sees.
        </p>
      </div>
      <nav class="row" aria-label="The partner’s pages">
        {partnerPages.map(([path, title]) => (
          <ButtonLink key={path} href={link(`/partners/${encodeURIComponent(id)}/${path}`)}>
            {title}
          </ButtonLink>
        ))}
      </nav>
      <p>
        <Link href={link("/operator/audit", { partner_id: id })}>Audit log of this partner</Link>, in the system’s audit
        log.
      </p>
    </section>
  );
}

type Opened = "change" | "keys" | "suspend" | "remove";

function Actions({ systemId, partner }: { readonly systemId: string; readonly partner: ShownPartner }) {
  const [opened, setOpened] = useState<Opened>();
  const { run, isPending } = useAction();
  const resume = () =>
    run(async () => {
      const params = { system_id: systemId, partner_id: partner.id };
      const resumed = await api.partners.resume({ params, body: {} });
      await showPartner(systemId, resumed.partner);
      const held = resumed.held > 0 ? ` ${resumed.held} deliveries stay held until they are resent.` : "";
      showToast("success", `${partner.name} is active again.${held}`);
    });
  const common = { systemId, partner, onClose: () => setOpened(undefined) };
  return (
    <>
      <Button onClick={() => setOpened("change")}>Change</Button>
      <Button onClick={() => setOpened("keys")}>Key allowance</Button>
      {partner.status === "suspended" ? (
        <Button variant="primary" pending={isPending} onClick={() => void resume()}>
          Resume
        </Button>
      ) : (
        <Button onClick={() => setOpened("suspend")}>Suspend</Button>
      )}
      <Button variant="danger" onClick={() => setOpened("remove")}>
        Remove
      </Button>
      {opened === "keys" && <KeyAllowanceDialog {...common} />}
      <PartnerDialog {...common} isOpen={opened === "change"} />
      <SuspendDialog {...common} isOpen={opened === "suspend"} />
      <RemoveDialog {...common} isOpen={opened === "remove"} />
    </>
  );
}
