import { useParams } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { addressIn, useOperatorScope } from "../scope.ts";
import { WebhooksView } from "./webhook-page.tsx";

/** The operator's page of a partner's webhooks, where the operator's admins change them. */
export function OperatorWebhookPage() {
  const scope = useOperatorScope();
  const { partner_id: partnerId } = useParams<{ partner_id: string }>();
  const systemId = scope?.systemId ?? "";
  const { data: partner } = useQuery({
    queryKey: ["partner", systemId, partnerId],
    queryFn: ({ signal }) => api.partners.get({ params: { system_id: systemId, partner_id: partnerId }, signal }),
    enabled: scope !== undefined,
  });
  if (scope === undefined) return <NotFoundPage />;
  return (
    <WebhooksView
      scope={{ ...scope, partnerId }}
      client={api.endpoints}
      of={partner === undefined ? "" : ` of ${partner.name}`}
      about="Your visit and your changes are in the partner’s audit log."
      addressOf={(query) => addressIn(scope, `endpoints/${encodeURIComponent(partnerId)}`, query)}
    />
  );
}
