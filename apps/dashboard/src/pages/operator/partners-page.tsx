import type { ShownPartner } from "@bikeshare/contract/console";
import { useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Checkbox } from "../../components/field.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { PartnerDialog } from "./partner-dialogs.tsx";
import { EndpointStatus, PartnerStatus } from "./partner-status.tsx";

/** The operator's page of all partners. */
export function PartnersPage() {
  const access = useOperatorAccess();
  const url = useUrlState();
  const [, navigate] = useLocation();
  const [isAdding, setAdding] = useState(false);
  const systemId = access?.systemId ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["partners", systemId],
    queryFn: ({ signal }) => api.partners.list({ params: { system_id: systemId }, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined) return <NotFoundPage />;
  const isShowingRemoved = url.get("removed") === "yes";
  const rows = data?.data.filter(({ status }) => isShowingRemoved || status !== "removed");
  const add = access.canChange && (
    <Button variant="primary" onClick={() => setAdding(true)}>
      Add a partner
    </Button>
  );
  return (
    <div class="stack">
      <PageHeader title="Partners" actions={add}>
        Companies that use this system’s data.
      </PageHeader>
      <Checkbox
        label="Show removed partners"
        checked={isShowingRemoved}
        onChange={(isShown) => url.filter({ removed: isShown ? "yes" : "" })}
      />
      <h2 class="visually-hidden">The list</h2>
      <Table
        caption="Partners"
        columns={columnsFor(url.link)}
        rows={rows}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No partners yet">Add the first company that will use the data.</EmptyState>}
      />
      {access.canChange && (
        <PartnerDialog
          systemId={systemId}
          isOpen={isAdding}
          onClose={() => setAdding(false)}
          onDone={({ id }) => navigate(url.link(`/operator/partners/${encodeURIComponent(id)}`))}
        />
      )}
    </div>
  );
}

function columnsFor(link: (path: string) => string): readonly Column<ShownPartner>[] {
  return [
    {
      id: "name",
      title: "Partner",
      cell: ({ id, name }) => <Link href={link(`/operator/partners/${encodeURIComponent(id)}`)}>{name}</Link>,
    },
    { id: "status", title: "Status", cell: (partner) => <PartnerStatus partner={partner} /> },
    { id: "webhook", title: "Webhook", cell: ({ endpoint_status }) => <EndpointStatus status={endpoint_status} /> },
    { id: "keys", title: "Keys", align: "end", cell: ({ active_keys }) => active_keys, isSecondary: true },
    {
      id: "reservations",
      title: "Reservations",
      align: "end",
      isSecondary: true,
      cell: (partner) =>
        `${partner.active_reservations.toLocaleString("en")} of ${partner.max_reservations.toLocaleString("en")}`,
    },
    {
      id: "requests",
      title: "Requests today",
      align: "end",
      cell: ({ requests_today }) => requests_today.toLocaleString("en"),
    },
  ];
}
