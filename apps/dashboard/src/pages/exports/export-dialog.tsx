import type { ShownExport } from "@bikeshare/contract/console";
import {
  EXPORT_MONTH,
  exportFormatNames,
  exportFormats,
  exportKinds,
  exportPrivacies,
  exportPrivacyNames,
  MAX_KEEP_MONTHS,
} from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Checkbox, SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../use-action.ts";
import { kindNames } from "./words.ts";

/** The options of an export file. */
export type ExportOptions = Pick<ShownExport, "kind" | "month" | "format" | "privacy" | "is_shared">;

interface ExportDialogProps {
  readonly systemId: string;
  /** `file`: makes one file. `schedule`: makes a file each month. */
  readonly form: "file" | "schedule";
  /** The month before the present one. */
  readonly lastMonth: string;
  /** The options of an earlier file, if it is to be made again. */
  readonly earlier?: ExportOptions;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** The values of the form's inputs. */
interface Wanted {
  readonly kind: ShownExport["kind"];
  readonly month: string;
  readonly format: ShownExport["format"];
  readonly privacy: NonNullable<ShownExport["privacy"]>;
  readonly is_shared: boolean;
  /** Months for which each file of a schedule is kept. */
  readonly keep: string;
}

const DEFAULT_KEEP_MONTHS = "24";

/** The dialog that orders a file, or sets a schedule. */
export function ExportDialog({ systemId, form, lastMonth, earlier, onClose, onDone }: ExportDialogProps) {
  const isSchedule = form === "schedule";
  const [wanted, setWanted] = useState<Wanted>({
    kind: earlier?.kind ?? exportKinds[0],
    month: earlier?.month ?? lastMonth,
    format: earlier?.format ?? exportFormatNames[0],
    privacy: earlier?.privacy ?? exportPrivacyNames[0],
    is_shared: earlier?.is_shared ?? false,
    keep: DEFAULT_KEEP_MONTHS,
  });
  const { run, isPending } = useAction();
  const change = (changed: Partial<typeof wanted>) => setWanted({ ...wanted, ...changed });
  const { kind, format, is_shared: isShared } = wanted;
  const submit = () =>
    void run(async () => {
      const params = { system_id: systemId };
      // Only rides have a privacy level: how much the file reveals about them. Files of stations have no month.
      const privacy = kind === "rides" ? wanted.privacy : null;
      const body = { kind, format, privacy, is_shared: isShared };
      if (isSchedule) await api.exports.addSchedule({ params, body: { ...body, keep_months: Number(wanted.keep) } });
      else await api.exports.create({ params, body: { ...body, month: kind === "stations" ? null : wanted.month } });
      onDone();
      onClose();
    });
  return (
    <Dialog title={isSchedule ? "Add a schedule" : "Make a file"} isOpen onClose={onClose}>
      <Form onSubmit={submit}>
        <ExportFields isSchedule={isSchedule} wanted={wanted} onChange={change} />
        <div class="row form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={isPending}>
            {isSchedule ? "Add" : "Make"}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

interface ExportFieldsProps {
  readonly isSchedule: boolean;
  readonly wanted: Wanted;
  readonly onChange: (changed: Partial<Wanted>) => void;
}

function ExportFields({ isSchedule, wanted, onChange }: ExportFieldsProps) {
  const { kind, format, is_shared: isShared } = wanted;
  return (
    <>
      <SelectField
        label="What"
        value={kind}
        choices={exportKinds.map((value) => ({ value, label: kindNames[value] }))}
        onChange={(value) => onChange({ kind: exportKinds.find((each) => each === value) ?? kind })}
      />
      {!isSchedule && kind !== "stations" && (
        <TextField
          label="Month"
          hint="In the system’s time zone, such as 2026-10."
          value={wanted.month}
          required
          pattern={EXPORT_MONTH.source}
          onInput={(month) => onChange({ month })}
        />
      )}
      {kind === "rides" && <PrivacyField privacy={wanted.privacy} onChange={onChange} />}
      <SelectField
        label="Format"
        value={format}
        choices={exportFormatNames.map((value) => ({ value, label: exportFormats[value].text }))}
        onChange={(value) => onChange({ format: exportFormatNames.find((each) => each === value) ?? format })}
      />
      {isSchedule && (
        <TextField
          label="Months to keep each file"
          hint="Made three days after the end of each month."
          value={wanted.keep}
          required
          type="number"
          min={1}
          max={MAX_KEEP_MONTHS}
          onInput={(keep) => onChange({ keep })}
        />
      )}
      <Checkbox
        label="Partners may have it"
        hint="Those whose keys have the scope exports:read."
        checked={isShared}
        onChange={(checked) => onChange({ is_shared: checked })}
      />
    </>
  );
}

function PrivacyField({ privacy, onChange }: Pick<Wanted, "privacy"> & Pick<ExportFieldsProps, "onChange">) {
  return (
    <SelectField
      label="Privacy"
      hint={exportPrivacies[privacy]}
      value={privacy}
      choices={exportPrivacyNames.map((value) => ({ value, label: value }))}
      onChange={(value) => onChange({ privacy: exportPrivacyNames.find((each) => each === value) ?? privacy })}
    />
  );
}
