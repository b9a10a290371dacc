import type { Delivery } from "@bikeshare/contract/console";
import { Link, useParams } from "wouter-preact";
import { Button } from "../../components/button.tsx";
import { visibleControls } from "../../components/code.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time, timedText } from "../../components/time.tsx";
import { pagesBase } from "../../embedding.ts";
import { failureWords, stateOf } from "./words.ts";

/** The selected rows. */
interface Choosing {
  readonly chosen: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
}

interface DeliveryTableProps {
  /** Undefined until the deliveries are loaded. */
  readonly deliveries: readonly Delivery[] | undefined;
  readonly error: unknown;
  readonly onRetry: () => void;
  /** The selection of rows. Undefined: rows cannot be selected. */
  readonly choosing: Choosing | undefined;
  /** Whether the list has the deliveries of several webhooks. Each row then names its webhook. */
  readonly hasWebhooks: boolean;
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

/** A table of one page of deliveries. */
export function DeliveryTable(props: DeliveryTableProps) {
  const { deliveries, error, onRetry, choosing, hasWebhooks, isFiltered, onClear } = props;
  const { id: openId } = useParams<{ id?: string }>();
  return (
    <Table
      caption="Deliveries, newest first"
      rows={deliveries}
      rowKey={({ id }) => id}
      isCurrent={({ id }) => id === openId}
      error={error}
      onRetry={onRetry}
      columns={columnsFor(choosing, hasWebhooks)}
      empty={<Nothing isFiltered={isFiltered} onClear={onClear} />}
    />
  );
}

function columnsFor(choosing: Choosing | undefined, hasWebhooks: boolean): Column<Delivery>[] {
  const select: Column<Delivery> = {
    id: "select",
    title: "",
    cell: ({ id }) => (
      <input
        type="checkbox"
        aria-label={`Select ${id}`}
        checked={choosing?.chosen.has(id) === true}
        onChange={() => choosing?.toggle(id)}
      />
    ),
  };
  const [lead, ...others] = columns;
  return [...(choosing === undefined ? [] : [select]), lead, ...(hasWebhooks ? [webhook] : []), ...others];
}

const webhook: Column<Delivery> = { id: "webhook", title: "Webhook", cell: (row) => row.endpoint_name };

const columns: readonly [Column<Delivery>, ...Column<Delivery>[]] = [
  {
    id: "delivery",
    title: "Delivery",
    cell: ({ id, event, resource_id: resource }) => (
      <>
        <Link href={`${listPath()}/${id}${location.search}`} aria-label={`${event}, ${id}`} title={id}>
          {event}
        </Link>{" "}
        {resource !== null && <span class="muted mono">{visibleControls(resource)}</span>}
      </>
    ),
  },
  {
    id: "status",
    title: "Status",
    cell: (row) => {
      const { tone, word } = stateOf(row);
      return <Status tone={tone}>{word}</Status>;
    },
  },
  {
    id: "created",
    title: "Created",
    cell: ({ created_at: at }) => <Time at={at} />,
  },
  {
    id: "result",
    title: "Latest result",
    cell: ({ code, failure, explanation }) => (
      <span class="delivery-result" title={timedText(explanation)}>
        {code !== null && <span class="mono">{code}</span>}
        {failure !== null && <span>{failureWords(failure)}</span>}
        {code === null && failure === null && <span class="muted">not tried yet</span>}
      </span>
    ),
  },
  { id: "attempts", title: "Attempts", align: "end", isSecondary: true, cell: ({ attempts }) => attempts },
  {
    id: "next",
    title: "Next attempt",
    isSecondary: true,
    cell: ({ next_attempt_at: at }) => <Time at={at} none="–" />,
  },
];

/** Returns the path of the list, even if the page of a row is open beside the list. */
function listPath(): string {
  // The router adds the base path to the addresses of links.
  const path = location.pathname.replace(pagesBase, "");
  return path.slice(0, path.indexOf("/deliveries")) + "/deliveries";
}

function Nothing({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  if (isFiltered) {
    return (
      <EmptyState title="No delivery matches" action={<Button onClick={onClear}>Clear filters</Button>}>
        Deliveries are kept for 30 days.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No deliveries yet">
      Events appear here as they are sent. The Webhook page sends a test.
    </EmptyState>
  );
}
