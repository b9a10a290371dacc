import type { EndpointSummary, MemberList, ShownKey, ShownPartner } from "@bikeshare/contract/console";
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { Facts } from "../../components/facts.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { type UrlState, useUrlState } from "../../layout/url-state.ts";
import type { Access } from "../../session/session.ts";
import { endpointState } from "../endpoint-state.ts";
import { keyName } from "../key-name.ts";
import { KeyStatus } from "../keys/key-table.tsx";
import { WeekOfRequests } from "../requests/requests-over-time.tsx";
import { waitingText } from "../waiting-text.ts";
import "./partner-parts.css";

interface PartnerPartsProps {
  readonly access: Access;
  readonly partner: ShownPartner;
}

/** A summary of a partner: its webhook, requests, keys and people, each with a link to its page. */
export function PartnerParts({ access: { systemId }, partner: { id } }: PartnerPartsProps) {
  const url = useUrlState();
  const keys = useKeysOf(systemId, id);
  // Only agencies (cities that read by MDS) have keys with this scope.
  const isAgency = keys.data?.some(({ scopes }) => scopes.includes("mds:read")) === true;
  return (
    <>
      <div class="partner-parts">
        <WebhookPart systemId={systemId} id={id} url={url} />
        <RequestsPart systemId={systemId} id={id} url={url} />
      </div>
      <Part title="Keys" links={[["All keys", url.link("/operator/keys")]]}>
        <Table
          caption="Keys"
          columns={keyColumns(url)}
          rows={keys.data}
          rowKey={(key) => key.id}
          error={keys.error}
          onRetry={() => void keys.refetch()}
          empty={<EmptyState title="No key works">Issue one on the page Keys.</EmptyState>}
        />
      </Part>
      <PeoplePart systemId={systemId} id={id} url={url} />
      {isAgency && <Link href={url.link(`/partners/${encodeURIComponent(id)}/city-data`)}>City data</Link>}
      <VisitPart id={id} url={url} />
    </>
  );
}

interface PartProps {
  readonly title: string;
  readonly links: readonly (readonly [text: string, href: string])[];
  readonly children: ComponentChildren;
}

function Part({ title, links, children }: PartProps) {
  return (
    <section class="stack partner-part" aria-label={title}>
      <div class="partner-part-head">
        <h2>{title}</h2>
        <span class="row">
          {links.map(([text, href]) => (
            <Link key={href} href={href}>
              {text}
            </Link>
          ))}
        </span>
      </div>
      {children}
    </section>
  );
}

interface OfPartner {
  readonly systemId: string;
  readonly id: string;
  readonly url: UrlState;
}

function WebhookPart({ systemId, id, url }: OfPartner) {
  const { data } = useQuery({
    queryKey: ["endpoints", systemId],
    queryFn: ({ signal }) => api.endpoints.list({ params: { system_id: systemId }, signal }),
  });
  // A removed webhook, which has no address, stays in the list while the service keeps its deliveries.
  const endpoints = (data?.data ?? []).filter(
    ({ partner_id: partnerId, url: address }) => partnerId === id && address !== null,
  );
  const page = url.link(`/operator/endpoints/${encodeURIComponent(id)}`);
  const deliveries = url.link(`/partners/${encodeURIComponent(id)}/deliveries`);
  return (
    <Part
      title={endpoints.length > 1 ? "Webhooks" : "Webhook"}
      links={[
        ["Settings", page],
        ["Deliveries", deliveries],
      ]}
    >
      {endpoints.length === 0 && <p class="muted">{data === undefined ? " " : "No address is set."}</p>}
      {endpoints.map((endpoint) => (
        <div key={endpoint.id} class="stack">
          {endpoints.length > 1 && <h3>{endpoint.name}</h3>}
          <EndpointFacts endpoint={endpoint} />
        </div>
      ))}
    </Part>
  );
}

function EndpointFacts({ endpoint }: { readonly endpoint: EndpointSummary }) {
  const [tone, text] = endpointState(endpoint);
  return (
    <Facts
      facts={[
        ["State", <Status tone={tone}>{text}</Status>],
        ["Address", <span class="mono">{endpoint.url}</span>],
        ["Waiting", waitingText(endpoint.pending)],
        ["Held", waitingText(endpoint.held)],
        ["Failing since", <Time at={endpoint.failing_since} none="no" />],
      ]}
    />
  );
}

function RequestsPart({ systemId, id, url }: OfPartner) {
  return (
    <Part title="Requests" links={[["Its requests", url.link(`/partners/${encodeURIComponent(id)}/requests`)]]}>
      <WeekOfRequests systemId={systemId} partnerId={id} />
    </Part>
  );
}

/** Reads a partner's keys that are neither revoked nor expired, the most recently used first. */
function useKeysOf(systemId: string, id: string) {
  const { data, error, refetch } = useQuery({
    // The cache key of the operator's page of keys, which reads the same list. Undefined: of all partners.
    queryKey: ["keys", systemId, undefined],
    queryFn: ({ signal }) => api.systemKeys.list({ params: { system_id: systemId }, signal }),
  });
  const keys = data?.data
    .filter((key) => key.partner_id === id && key.status !== "revoked" && key.status !== "expired")
    .toSorted((one, other) => (other.last_used_at ?? "").localeCompare(one.last_used_at ?? ""));
  return { data: keys, error, refetch };
}

function keyColumns(url: UrlState): readonly Column<ShownKey>[] {
  return [
    {
      id: "key",
      title: "Key",
      cell: (key) => <Link href={url.link("/operator/keys", { key: key.id })}>{keyName(key)}</Link>,
    },
    { id: "status", title: "Status", cell: (key) => <KeyStatus shown={key} /> },
    { id: "used", title: "Last used", cell: ({ last_used_at: at }) => <Time at={at} /> },
    {
      id: "limit",
      title: "Requests per minute",
      align: "end",
      isSecondary: true,
      cell: ({ rate_limit: limit }) => limit.toLocaleString("en"),
    },
  ];
}

function PeoplePart({ systemId, id, url }: OfPartner) {
  const { data, error, refetch } = useQuery({
    queryKey: ["partner-people", systemId, id],
    queryFn: ({ signal }) =>
      api.operatorPeople.list({ params: { system_id: systemId }, query: { partner_id: id }, signal }),
  });
  return (
    <Part title="People" links={[["Invite", url.link("/operator/people", { partner: id })]]}>
      <Table
        caption="People"
        columns={peopleColumns}
        rows={data?.members}
        rowKey={(member) => member.id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="Nobody yet">Invite the partner’s first admin on the page People.</EmptyState>}
      />
    </Part>
  );
}

const peopleColumns: readonly Column<MemberList["members"][number]>[] = [
  { id: "name", title: "Name", cell: ({ name }) => name },
  { id: "role", title: "Role", cell: ({ role }) => role },
  { id: "email", title: "Email", cell: ({ email }) => email },
  {
    id: "seen",
    title: "Last seen",
    isSecondary: true,
    cell: ({ last_used_at: at }) => <Time at={at} none="not signed in" />,
  },
];

/** A link to the partner's own pages, which the operator's people may read. */
function VisitPart({ id, url }: Pick<OfPartner, "id" | "url">) {
  return (
    <p class="muted">
      <Link href={url.link(`/partners/${encodeURIComponent(id)}/overview`)}>See the partner’s pages</Link> as its people
      do: your visit is in its audit log. <Link href={url.link("/operator/audit", { partner_id: id })}>Audit log</Link>{" "}
      of this partner.
    </p>
  );
}
