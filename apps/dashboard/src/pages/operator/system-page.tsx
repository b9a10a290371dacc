import type { SystemFact } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { api, queries } from "../../api/api.ts";
import { TextField } from "../../components/field.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { type Access, useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { editColumn, EditDialog, useEditing } from "./edit-dialog.tsx";
import { Regions } from "./regions.tsx";
import { VehicleTypes } from "./vehicle-types.tsx";

/** The system's description as GBFS publishes it, and its regions and vehicle types. */
export function SystemPage() {
  const access = useOperatorAccess();
  const systemId = access?.systemId ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["facts", systemId],
    queryFn: ({ signal }) => api.descriptions.facts({ params: { system_id: systemId }, signal }),
    enabled: access !== undefined,
  });
  if (access === undefined) return <NotFoundPage />;
  return (
    <div class="stack">
      <PageHeader title="System">
        <span class="mono">{access.systemId}</span>, as readers of its feeds see it
        {data?.feeds.map(({ version, url }) => (
          <span key={version}>
            {" · "}
            <a href={url}>GBFS {version}</a>
          </span>
        ))}
      </PageHeader>
      <Facts access={access} facts={data?.facts} error={error} onRetry={() => void refetch()} />
      <VehicleTypes access={access} />
      <Regions access={access} />
    </div>
  );
}

const labels: Readonly<Record<SystemFact["name"], string>> = {
  name: "Name",
  timezone: "Time zone",
  language: "Language",
  feed_contact_email: "Feed contact",
  opening_hours: "Opening hours",
  operator: "Operator",
  url: "Address",
  licence: "Licence",
};

const origins: Readonly<Record<SystemFact["from"], string>> = {
  operator: "you",
  source: "a source",
  default: "default",
  nobody: "none",
};

interface FactsProps {
  readonly access: Access;
  readonly facts: readonly SystemFact[] | undefined;
  readonly error: unknown;
  readonly onRetry: () => void;
}

function Facts({ access, facts, error, onRetry }: FactsProps) {
  const editing = useEditing<SystemFact>(({ own }) => own ?? "");
  const columns: readonly Column<SystemFact>[] = [
    { id: "name", title: "Fact", cell: ({ name }) => labels[name] },
    { id: "value", title: "Published", cell: ({ value }) => value ?? <span class="muted">left out</span> },
    { id: "from", title: "Source", cell: ({ from }) => origins[from] },
    ...editColumn<SystemFact>(access, ({ name }) => labels[name], editing.open),
  ];
  const { item, text } = editing;
  const title = item === undefined ? "" : labels[item.name];
  const save = async (word: string | null) => {
    if (item === undefined) return;
    const params = { system_id: access.systemId };
    const body = { [item.name]: word };
    queries.setQueryData(["facts", access.systemId], await api.descriptions.setFacts({ params, body }));
  };
  return (
    <section class="stack">
      <h2>Facts</h2>
      <Table
        caption="Facts"
        columns={columns}
        rows={facts}
        rowKey={({ name }) => name}
        error={error}
        onRetry={onRetry}
        empty={null}
      />
      <EditDialog
        title={title}
        editing={editing}
        save={() => save(text.trim())}
        remove={item?.own === null ? undefined : () => save(null)}
      >
        <TextField label={title} hint={item?.expected} value={text} onInput={editing.setText} />
      </EditDialog>
    </section>
  );
}
