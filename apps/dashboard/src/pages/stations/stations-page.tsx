import { useUrlState } from "../../layout/url-state.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { type PageScope, useOperatorScope, usePartnerScope } from "../scope.ts";
import { StationsView } from "./stations-view.tsx";

/** A partner's page of the stations. */
export function PartnerStationsPage() {
  return <Stations scope={usePartnerScope()} />;
}

/** The operator's page of the stations. */
export function OperatorStationsPage() {
  return <Stations scope={useOperatorScope()} />;
}

function Stations({ scope }: { readonly scope: PageScope | undefined }) {
  const { link } = useUrlState();
  if (scope === undefined) return <NotFoundPage />;
  const { partnerId } = scope;
  const area = partnerId === undefined ? "/operator" : `/partners/${encodeURIComponent(partnerId)}`;
  return <StationsView viewer={scope} addressOf={(id) => link(`${area}/stations/${encodeURIComponent(id)}`)} />;
}
