import type { DescribedVehicleType } from "@bikeshare/contract/console";
import { formFactors, propulsionTypes } from "@bikeshare/contract/pure";
import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Table } from "../../components/table.tsx";
import type { Access } from "../../session/session.ts";
import { editColumn, EditDialog, type Editing, useEditing } from "./edit-dialog.tsx";

type Words = Partial<Omit<DescribedVehicleType["type"], "id">>;

/** The vehicle types of a system, with their ids. */
export function VehicleTypes({ access }: { readonly access: Access }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["vehicle-types", access.systemId],
    queryFn: ({ signal }) => api.descriptions.vehicleTypes({ params: { system_id: access.systemId }, signal }),
  });
  const editing = useEditing<DescribedVehicleType>(({ own }) => own?.name ?? "");
  return (
    <section class="stack">
      <h2>Vehicle types</h2>
      <Table
        caption="Vehicle types"
        columns={[
          { id: "id", title: "Id", cell: ({ type }) => <span class="mono">{type.id}</span> },
          { id: "name", title: "Name", cell: ({ type }) => type.name },
          { id: "form", title: "Form", cell: ({ type }) => wordText(type.form_factor) },
          { id: "drive", title: "Propulsion", isSecondary: true, cell: ({ type }) => wordText(type.propulsion_type) },
          { id: "range", title: "Range", isSecondary: true, cell: ({ type }) => rangeText(type.max_range_meters) },
          ...editColumn<DescribedVehicleType>(access, ({ type }) => `the type ${type.id}`, editing.open),
        ]}
        rows={data?.data}
        rowKey={({ type }) => type.id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No vehicle types yet" />}
      />
      {editing.item !== undefined && <TypeDialog access={access} editing={editing} item={editing.item} />}
    </section>
  );
}

interface TypeDialogProps {
  readonly access: Access;
  readonly editing: Editing<DescribedVehicleType>;
  readonly item: DescribedVehicleType;
}

function TypeDialog({ access, editing, item: { type, own } }: TypeDialogProps) {
  const [words, setWords] = useState<Words>({});
  const shown = { ...own, ...words };
  const name = editing.text.trim();
  const body = { ...words, ...(name !== (own?.name ?? "") && { name: name === "" ? null : name }) };
  const params = { system_id: access.systemId, id: type.id };
  const change = async (work: () => Promise<unknown>) => {
    await work();
    await queries.invalidateQueries({ queryKey: ["vehicle-types", access.systemId] });
  };
  const remove = () => change(() => api.descriptions.removeVehicleType({ params, body: {} }));
  return (
    <EditDialog
      title={`Vehicle type ${type.id}`}
      editing={editing}
      canSave={Object.keys(body).length > 0}
      save={() => change(() => api.descriptions.setVehicleType({ params, body }))}
      remove={own === null ? undefined : remove}
    >
      <TextField label="Name" value={editing.text} onInput={editing.setText} />
      <SelectField
        label="Form"
        value={shown.form_factor ?? ""}
        choices={choicesOf(formFactors)}
        onChange={(word) => setWords({ ...words, form_factor: formFactors.find((each) => each === word) ?? null })}
      />
      <SelectField
        label="Propulsion"
        value={shown.propulsion_type ?? ""}
        choices={choicesOf(propulsionTypes)}
        onChange={(word) =>
          setWords({ ...words, propulsion_type: propulsionTypes.find((each) => each === word) ?? null })
        }
      />
      <TextField
        label="Range in metres"
        hint="When fully charged or fuelled."
        type="number"
        inputMode="numeric"
        value={String(shown.max_range_meters ?? "")}
        onInput={(text) => setWords({ ...words, max_range_meters: text === "" ? null : Number(text) })}
      />
    </EditDialog>
  );
}

function wordText(word: string | null): string {
  return word?.replaceAll("_", " ") ?? "not said";
}

function rangeText(meters: number | null): string {
  return meters === null ? "not said" : `${meters.toLocaleString("en")} m`;
}

function choicesOf(words: readonly string[]) {
  return [{ value: "", label: "as the sources say" }, ...words.map((value) => ({ value, label: wordText(value) }))];
}
