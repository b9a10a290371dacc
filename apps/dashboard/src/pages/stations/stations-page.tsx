import { api } from "../../api/api.ts";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess, usePartnerAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { StationsView } from "./stations-view.tsx";

/** A partner's page of the stations. */
export function PartnerStationsPage() {
  const access = usePartnerAccess();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId, partner_id: access.partnerId };
  return <StationsView scope={params} read={(signal) => api.partnerStations.list({ params, signal })} />;
}

/** The operator's page of the stations. */
export function OperatorStationsPage() {
  const access = useOperatorAccess();
  const { link } = useUrlState();
  if (access === undefined) return <NotFoundPage />;
  const params = { system_id: access.systemId };
  return (
    <StationsView
      scope={params}
      read={(signal) => api.systemStations.list({ params, signal })}
      addressOf={(id) => link(`/operator/stations/${encodeURIComponent(id)}`)}
    />
  );
}
