import type { Webhook } from "@bikeshare/contract/console";
import { Link } from "wouter-preact";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { endpointState } from "../endpoint-state.ts";
import { addressIn, type PageScope } from "../scope.ts";
import { waitingText } from "../waiting-text.ts";
import { hourText } from "./hour-text.ts";

interface WebhookListProps {
  readonly webhooks: readonly Webhook[];
  /** Returns the address of the page of webhooks with a query: `endpoint` names one of them. */
  readonly addressOf: (query: Readonly<Record<string, string>>) => string;
  readonly scope: PageScope;
}

/** A list of all webhooks of a partner, with the health of each. */
export function WebhookList({ webhooks, addressOf, scope }: WebhookListProps) {
  const columns: readonly Column<Webhook>[] = [
    {
      id: "name",
      title: "Name",
      cell: ({ id, name }) => <Link href={addressOf({ endpoint: id })}>{name}</Link>,
    },
    {
      id: "status",
      title: "Status",
      cell: (webhook) => {
        const [tone, text] = endpointState(webhook);
        return <Status tone={tone}>{text}</Status>;
      },
    },
    {
      id: "url",
      title: "Address",
      isSecondary: true,
      cell: ({ url }) => <code class="mono table-address">{url}</code>,
    },
    { id: "events", title: "Events", isSecondary: true, align: "end", cell: ({ events }) => events.length },
    { id: "alarms", title: "Alarms", isSecondary: true, align: "end", cell: ({ thresholds }) => thresholds.length },
    { id: "hour", title: "This hour", isSecondary: true, cell: (webhook) => hourText(webhook) ?? "no limit" },
    {
      id: "failing",
      title: "Failing since",
      cell: ({ failing_since: at }) => <Time at={at} show="relative" none="no" />,
    },
    { id: "pending", title: "Waiting", align: "end", cell: ({ pending }) => waitingText(pending) },
    { id: "held", title: "Held", align: "end", cell: ({ held }) => waitingText(held) },
    {
      id: "log",
      title: "Log",
      cell: ({ id }) => <Link href={addressIn(scope, "deliveries", { endpoint: id })}>Deliveries</Link>,
    },
  ];
  return <Table caption="Webhooks" columns={columns} rows={webhooks} rowKey={({ id }) => id} empty={null} />;
}
