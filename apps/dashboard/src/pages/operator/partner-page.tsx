import type { ShownPartner } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { useParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Icon } from "../../components/icon.tsx";
import { Loading } from "../../components/loading.tsx";
import { Menu, MenuItem } from "../../components/menu.tsx";
import { Notice } from "../../components/notice.tsx";
import { Time } from "../../components/time.tsx";
import { showToast } from "../../components/toast.tsx";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { useAction } from "../use-action.ts";
import { ItemHeader } from "./item-page.tsx";
import { KeyAllowanceDialog } from "./key-allowance-dialog.tsx";
import { PartnerDialog, RemoveDialog, showPartner, SuspendDialog } from "./partner-dialogs.tsx";
import { PartnerParts } from "./partner-parts.tsx";
import { PartnerStatus } from "./partner-status.tsx";

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
    <div class="stack wide">
      <ItemHeader
        title={data.name}
        status={<PartnerStatus partner={data} />}
        id={data.id}
        actions={canChange && <Actions systemId={systemId} partner={data} />}
      />
      <StatusNotice partner={data} />
      <PartnerFacts partner={data} />
      {data.status !== "removed" && <PartnerParts access={access} partner={data} />}
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
  const limit = `${active.toLocaleString("en")} of ${most.toLocaleString("en")}`;
  return (
    <Facts
      facts={[
        ["Requests today", partner.requests_today.toLocaleString("en")],
        ["Reservations", partner.has_own_max_reservations ? limit : `${limit} (the default)`],
        ["Own keys", allowanceText(partner)],
        ["Created", <Time at={partner.created_at} show="both" />],
      ]}
    />
  );
}

/** Returns a text about how much of the key allowance a partner has used; null: it has no allowance and no such keys. */
function allowanceText({
  key_allowance: allowance,
  own_keys: keys,
  own_rate_limit: rate,
}: ShownPartner): string | null {
  if (allowance === null) return keys === 0 ? null : `none; ${keys} made before still work`;
  const rates = `${rate.toLocaleString("en")} of ${allowance.rate_limit.toLocaleString("en")} requests per minute`;
  return `${keys} of ${allowance.keys}, ${rates}`;
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
      <Menu variant="secondary" label="More actions" button={<Icon name="more" />}>
        <MenuItem onSelect={() => setOpened("keys")}>Key allowance</MenuItem>
        {partner.status !== "suspended" && <MenuItem onSelect={() => setOpened("suspend")}>Suspend</MenuItem>}
        <hr />
        <MenuItem isDangerous onSelect={() => setOpened("remove")}>
          Remove
        </MenuItem>
      </Menu>
      {partner.status === "suspended" && (
        <Button variant="primary" pending={isPending} onClick={() => void resume()}>
          Resume
        </Button>
      )}
      {opened === "keys" && <KeyAllowanceDialog {...common} />}
      <PartnerDialog {...common} isOpen={opened === "change"} />
      <SuspendDialog {...common} isOpen={opened === "suspend"} />
      <RemoveDialog {...common} isOpen={opened === "remove"} />
    </>
  );
}
