import type { DescribedRegion } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { api, queries } from "../../api/api.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { TextField } from "../../components/field.tsx";
import { Table } from "../../components/table.tsx";
import type { Access } from "../../session/session.ts";
import { editColumn, EditDialog, useEditing } from "./edit-dialog.tsx";

/** The regions of a system, with their ids. */
export function Regions({ access }: { readonly access: Access }) {
  const params = { system_id: access.systemId };
  const key = ["regions", access.systemId];
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.descriptions.regions({ params, signal }),
  });
  const editing = useEditing<DescribedRegion>(({ own_name: name }) => name ?? "");
  const { item, text } = editing;
  const change = async (work: (path: { readonly system_id: string; readonly id: string }) => Promise<unknown>) => {
    await work({ ...params, id: item?.region.id ?? "" });
    await queries.invalidateQueries({ queryKey: key });
  };
  return (
    <section class="stack">
      <h2>Regions</h2>
      <Table
        caption="Regions"
        columns={[
          { id: "id", title: "Id", cell: ({ region }) => <span class="mono">{region.id}</span> },
          { id: "name", title: "Name", cell: ({ region }) => region.name },
          {
            id: "from",
            title: "Source",
            isSecondary: true,
            cell: ({ own_name: name }) => (name === null ? "feed or none" : "you"),
          },
          ...editColumn(access, ({ region }: DescribedRegion) => `the region ${region.id}`, editing.open),
        ]}
        rows={data?.data}
        rowKey={({ region }) => region.id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No regions yet" />}
      />
      <EditDialog
        title={`Region ${item?.region.id ?? ""}`}
        editing={editing}
        save={() => change((path) => api.descriptions.setRegion({ params: path, body: { name: text.trim() } }))}
        remove={
          item?.own_name === null
            ? undefined
            : () => change((path) => api.descriptions.removeRegion({ params: path, body: {} }))
        }
      >
        <TextField label="Name" value={text} onInput={editing.setText} />
      </EditDialog>
    </section>
  );
}
