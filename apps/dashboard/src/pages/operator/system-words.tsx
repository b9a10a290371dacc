import type { DescribedRegion, DescribedVehicleType } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { type Column, Table } from "../../components/table.tsx";
import type { Access } from "../../session/session.ts";
import { EditDialog, useEditing } from "./edit-dialog.tsx";

interface WordsProps {
  readonly access: Access;
}

type VehicleType = DescribedVehicleType["type"];

const forms = ["bicycle", "cargo_bicycle", "car", "moped", "scooter_standing", "scooter_seated", "other"] as const;
const propulsions = [
  "human",
  "electric_assist",
  "electric",
  "combustion",
  "combustion_diesel",
  "hybrid",
  "plug_in_hybrid",
  "hydrogen_fuel_cell",
] as const;

/** A button at the end of each row, for those who may change it. */
function editColumn<Row>(access: Access, labelOf: (row: Row) => string, open: (row: Row) => void): Column<Row>[] {
  if (!access.canChange) return [];
  const cell = (row: Row) => (
    <Button onClick={() => open(row)} label={`Change ${labelOf(row)}`}>
      Change
    </Button>
  );
  return [{ id: "edit", title: "", align: "end", cell }];
}

/** What the ids of vehicle types mean. */
export function VehicleTypes({ access }: WordsProps) {
  const params = { system_id: access.systemId };
  const key = ["vehicle-types", access.systemId];
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.descriptions.vehicleTypes({ params, signal }),
  });
  const editing = useEditing<DescribedVehicleType>(({ own }) => own?.name ?? "");
  const [words, setWords] = useState<Partial<VehicleType>>({});
  const { item } = editing;
  const own = { ...item?.own, ...words };
  const change = async (work: (path: { readonly system_id: string; readonly id: string }) => Promise<unknown>) => {
    await work({ ...params, id: item?.type.id ?? "" });
    await queries.invalidateQueries({ queryKey: key });
  };
  const open = (type: DescribedVehicleType) => {
    setWords({});
    editing.open(type);
  };
  const body = { ...words, ...(editing.text.trim() !== "" && { name: editing.text.trim() }) };
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
          {
            id: "range",
            title: "Range",
            isSecondary: true,
            cell: ({ type: { max_range_meters: m } }) => m !== null && `${m} m`,
          },
          ...editColumn(access, ({ type }: DescribedVehicleType) => `the type ${type.id}`, open),
        ]}
        rows={data?.data}
        rowKey={({ type }) => type.id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No bike and no station names a vehicle type" />}
      />
      <EditDialog
        title={`Vehicle type ${item?.type.id ?? ""}`}
        editing={{ ...editing, text: Object.keys(body).length > 0 ? "changed" : "" }}
        save={() => change((path) => api.descriptions.setVehicleType({ params: path, body }))}
        remove={
          item?.own === null
            ? undefined
            : () => change((path) => api.descriptions.removeVehicleType({ params: path, body: {} }))
        }
      >
        <TextField label="Name" value={editing.text} onInput={editing.setText} />
        <SelectField
          label="Form"
          value={own.form_factor ?? ""}
          choices={choicesOf(forms)}
          onChange={(form) => setWords({ ...words, form_factor: forms.find((each) => each === form) ?? null })}
        />
        <SelectField
          label="Propulsion"
          value={own.propulsion_type ?? ""}
          choices={choicesOf(propulsions)}
          onChange={(word) =>
            setWords({ ...words, propulsion_type: propulsions.find((each) => each === word) ?? null })
          }
        />
        <TextField
          label="Range in metres"
          hint="When fully charged or fuelled."
          type="number"
          inputMode="numeric"
          value={String(own.max_range_meters ?? "")}
          onInput={(text) => setWords({ ...words, max_range_meters: text === "" ? null : Number(text) })}
        />
      </EditDialog>
    </section>
  );
}

function wordText(word: string | null): string {
  return word?.replaceAll("_", " ") ?? "not said";
}

function choicesOf(words: readonly string[]) {
  return [{ value: "", label: "as the sources say" }, ...words.map((value) => ({ value, label: wordText(value) }))];
}

/** What the ids of regions mean. */
export function Regions({ access }: WordsProps) {
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
            title: "Said by",
            isSecondary: true,
            cell: ({ own_name: name }) => (name === null ? "a source, or nobody" : "you"),
          },
          ...editColumn(access, ({ region }: DescribedRegion) => `the region ${region.id}`, editing.open),
        ]}
        rows={data?.data}
        rowKey={({ region }) => region.id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title="No station is in a region" />}
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
