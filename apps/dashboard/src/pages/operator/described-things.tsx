import type { DescribedFactsOfKind } from "@bikeshare/contract/console";
import type { FactKind } from "@bikeshare/contract/facts";
import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Table } from "../../components/table.tsx";
import type { Access } from "../../session/session.ts";
import { FactList, textOf } from "./fact-list.tsx";

interface DescribedThingsProps {
  readonly access: Access;
  readonly kind: FactKind;
  readonly title: string;
}

/** Everything of a kind, by id; the facts of the one that is opened follow the list. */
export function DescribedThings({ access, kind, title }: DescribedThingsProps) {
  const params = { system_id: access.systemId, kind };
  const { data, error, refetch } = useQuery({
    queryKey: ["facts", access.systemId, kind, "all"],
    queryFn: ({ signal }) => api.descriptions.list({ params, signal }),
  });
  const [opened, setOpened] = useState<string>();
  return (
    <section class="stack">
      <h2>{title}</h2>
      <Table
        caption={title}
        columns={[
          { id: "id", title: "Id", cell: ({ id }: DescribedFactsOfKind) => <span class="mono">{id}</span> },
          { id: "name", title: "Name", cell: ({ published }: DescribedFactsOfKind) => textOf(published["name"]) },
          {
            id: "open",
            title: "",
            align: "end",
            cell: ({ id }: DescribedFactsOfKind) => (
              <Button label={`Facts of ${id}`} onClick={() => setOpened(opened === id ? undefined : id)}>
                {opened === id ? "Close" : "Facts"}
              </Button>
            ),
          },
        ]}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title={`No ${title.toLowerCase()} yet`} />}
      />
      {opened !== undefined && <FactList access={access} kind={kind} id={opened} />}
    </section>
  );
}
