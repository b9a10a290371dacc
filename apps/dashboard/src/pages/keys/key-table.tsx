import type { ShownKey } from "@bikeshare/contract/console";
import { EmptyState } from "../../components/empty-state.tsx";
import { Status, type Tone } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";

interface KeyTableProps {
  readonly keys: readonly ShownKey[] | undefined;
  readonly error: unknown;
  readonly onRetry: () => void;
  readonly selected: ShownKey | undefined;
  readonly onSelect: (id: string) => void;
  readonly isOperators: boolean;
  /** Whether the operator allows the partner to make keys. */
  readonly mayCreate: boolean;
}

/** Keys with their status, last use and end. */
export function KeyTable({ keys, error, onRetry, selected, onSelect, isOperators, mayCreate }: KeyTableProps) {
  const columns: readonly Column<ShownKey>[] = [
    {
      id: "key",
      title: "Key",
      cell: (key) => (
        <button type="button" class="link-button key-cell" onClick={() => onSelect(key.id)}>
          {key.name !== null && <span>{key.name}</span>}
          <span class="mono">{`${key.prefix}…${key.last4}`}</span>
        </button>
      ),
    },
    ...(isOperators
      ? [{ id: "partner", title: "Partner", cell: ({ partner_name: name }: ShownKey) => name ?? "operator" }]
      : []),
    { id: "status", title: "Status", cell: (key) => <KeyStatus shown={key} /> },
    { id: "used", title: "Last used", cell: ({ last_used_at: at }) => <Time at={at} show="relative" /> },
    {
      id: "expires",
      title: "Ends",
      cell: (key) => <Time at={endOf(key)} show="relative" none="never" />,
      isSecondary: true,
    },
    {
      id: "limit",
      title: "Requests per minute",
      align: "end",
      cell: ({ rate_limit: limit }) => limit.toLocaleString("en"),
      isSecondary: true,
    },
  ];
  return (
    <Table
      caption="Keys"
      columns={columns}
      rows={keys}
      rowKey={({ id }) => id}
      error={error}
      onRetry={onRetry}
      isCurrent={({ id }) => id === selected?.id}
      empty={
        <EmptyState title="No key works">
          {isOperators && "Issue a key. It is shown once, and works at once."}
          {!isOperators && (mayCreate ? "An admin creates one: it is shown once." : "Ask the operator for a key.")}
        </EmptyState>
      }
    />
  );
}

/** Returns when a key ends or has ended, because it is revoked or replaced (`ends_at`) or expires; null: never. */
function endOf({ ends_at: endsAt, expires_at: expiresAt }: ShownKey): string | null {
  if (endsAt === null || expiresAt === null) return endsAt ?? expiresAt;
  return endsAt < expiresAt ? endsAt : expiresAt;
}

const tones: Readonly<Record<ShownKey["status"], Tone>> = {
  active: "success",
  expired: "neutral",
  revoked: "neutral",
  suspended: "warning",
};

/** A key's status, in one or two words. */
export function KeyStatus({ shown }: { readonly shown: ShownKey }) {
  if (shown.status === "active" && shown.compromised_at !== null) return <Status tone="danger">compromised</Status>;
  if (shown.exceeds_allowance) return <Status tone="warning">exceeds allowance</Status>;
  if (shown.status === "active" && shown.rotated_to !== null) return <Status tone="warning">replaced</Status>;
  return <Status tone={tones[shown.status]}>{shown.status}</Status>;
}
