import type { DescribedFactsOfKind } from "@bikeshare/contract/console";
import { type FactKind, factKinds, type Facts, type FieldType } from "@bikeshare/contract/facts";
import { useQuery } from "@tanstack/preact-query";
import { api, queries } from "../../api/api.ts";
import { TextField } from "../../components/field.tsx";
import { Table } from "../../components/table.tsx";
import type { Access } from "../../session/session.ts";
import { editColumn, EditDialog, useEditing } from "./edit-dialog.tsx";

const origins = { operator: "you", source: "a source", default: "default" } as const;

interface FactRow {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly type: FieldType;
  readonly published: unknown;
  readonly own: unknown;
  readonly from: "operator" | "source" | "default" | undefined;
}

interface FactListProps {
  readonly access: Access;
  readonly kind: FactKind;
  /** `-`: there is one of its kind. */
  readonly id: string;
}

/** The facts of one thing: what is published, who gives it, and a dialog to change it. */
export function FactList({ access, kind, id }: FactListProps) {
  const params = { system_id: access.systemId, kind, id };
  const queryKey = ["facts", access.systemId, kind, id];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => api.descriptions.get({ params, signal }),
  });
  const editing = useEditing<FactRow>(({ own }) => textOf(own));
  const { item, text } = editing;
  const save = async (value: unknown) => {
    if (item === undefined) return;
    queries.setQueryData(queryKey, await api.descriptions.set({ params, body: { [item.name]: value } }));
    await queries.invalidateQueries({ queryKey: ["facts", access.systemId, kind, "all"] });
  };
  return (
    <>
      <Table
        caption="Facts"
        columns={[
          { id: "name", title: "Fact", cell: ({ label }: FactRow) => label },
          {
            id: "value",
            title: "Published",
            cell: ({ published }: FactRow) =>
              published === undefined ? <span class="muted">left out</span> : textOf(published),
          },
          { id: "from", title: "Source", cell: ({ from }: FactRow) => (from === undefined ? "none" : origins[from]) },
          ...editColumn<FactRow>(access, ({ label }) => label, editing.open),
        ]}
        rows={data && rowsOf(kind, data)}
        rowKey={({ name }) => name}
        error={error}
        onRetry={() => void refetch()}
        empty={null}
      />
      <EditDialog
        title={item?.label ?? ""}
        editing={editing}
        save={() => save(valueOf(item?.type, text.trim()))}
        remove={item?.own === undefined ? undefined : () => save(null)}
      >
        <TextField label={item?.label ?? ""} hint={item?.about} value={text} onInput={editing.setText} />
      </EditDialog>
    </>
  );
}

function rowsOf(kind: FactKind, { published, own, from }: DescribedFactsOfKind): FactRow[] {
  const facts: Facts = factKinds[kind];
  return Object.entries(facts).map(([name, { label, about, type }]) => ({
    ...{ name, label, about, type },
    ...{ published: published[name], own: own[name], from: from[name] },
  }));
}

/** Returns a value as a person reads and writes it: a text in one language is that text, everything else is JSON. */
export function textOf(value: unknown): string {
  if (value === undefined) return "";
  if (Array.isArray(value) && value.length === 1) {
    const [only] = value as readonly { readonly text?: unknown }[];
    if (typeof only?.text === "string") return only.text;
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

function valueOf(type: FieldType | undefined, text: string): unknown {
  const isJson = /^[[{]/.test(text) || ["boolean", "integer", "number"].includes(type?.kind ?? "");
  if (!isJson) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
