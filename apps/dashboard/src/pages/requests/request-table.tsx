import type { LoggedRequest, ShownKey } from "@bikeshare/contract/console";
import { EmptyState } from "../../components/empty-state.tsx";
import { Notice } from "../../components/notice.tsx";
import { Pager } from "../../components/pager.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { keyName } from "../key-name.ts";
import { durationText } from "./request-details.tsx";
import { RequestStatus } from "./request-status.tsx";

interface RequestTableProps {
  /** Undefined until it is loaded. `searched_to`: the search stopped at this time, and older requests may match. */
  readonly page: { readonly data: readonly LoggedRequest[]; readonly searched_to?: string | undefined } | undefined;
  readonly error: unknown;
  readonly onRetry: () => void;
  readonly keys: readonly ShownKey[];
  readonly hasFilters: boolean;
  readonly isPending: boolean;
  readonly openId: string | undefined;
  readonly onOpen: (id: string) => void;
  readonly onPrevious: (() => void) | undefined;
  readonly onNext: (() => void) | undefined;
}

/** A table of one page of the request log. */
export function RequestTable(props: RequestTableProps) {
  const { page, keys, openId, hasFilters, onPrevious, onNext, isPending } = props;
  return (
    <div class="stack">
      <Table
        caption="Requests"
        columns={columnsFor(keys, props.onOpen)}
        rows={page?.data}
        rowKey={({ id }) => id}
        error={props.error}
        onRetry={props.onRetry}
        isCurrent={({ id }) => id === openId}
        empty={
          <EmptyState title={hasFilters ? "No request matches" : "No request yet"}>
            {hasFilters
              ? "Remove a filter, or look further back."
              : "Requests appear here about a second after they are answered."}
          </EmptyState>
        }
      />
      {page?.searched_to !== undefined && (
        <Notice tone="info">
          Looked back to <Time at={page.searched_to} />. There may be older requests: go on with “Older”.
        </Notice>
      )}
      {page !== undefined && <Pager summary="" {...{ onPrevious, onNext, isPending }} />}
    </div>
  );
}

function columnsFor(keys: readonly ShownKey[], onOpen: (id: string) => void): readonly Column<LoggedRequest>[] {
  const byId = new Map(keys.map((key) => [key.id, key]));
  const nameOf = (id: string) => {
    const key = byId.get(id);
    return key === undefined ? id : keyName(key);
  };
  return [
    {
      id: "route",
      title: "Request",
      cell: ({ id, method, route }) => (
        <button
          type="button"
          class="link-button mono"
          aria-label={`${method} ${route}, ${id}`}
          onClick={() => onOpen(id)}
        >
          {method} {route}
        </button>
      ),
    },
    { id: "status", title: "Status", cell: (request) => <RequestStatus request={request} /> },
    { id: "at", title: "Time", cell: ({ at }) => <Time at={at} show="exact" /> },
    { id: "error", title: "Error", cell: ({ error }) => (error === null ? "" : <code class="mono">{error}</code>) },
    { id: "key", title: "Key", cell: ({ key_id }) => nameOf(key_id), isSecondary: true },
    { id: "ms", title: "Took", align: "end", cell: ({ ms }) => durationText(ms), isSecondary: true },
  ];
}
