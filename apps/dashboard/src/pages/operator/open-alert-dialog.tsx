import type { OperatorAlert } from "@bikeshare/contract";
import { alertTypes } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField, TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { InstantField } from "../../components/instant-field.tsx";
import { useAction } from "../use-action.ts";

/** The types of alerts in words. */
export const typeNames: Readonly<Record<OperatorAlert["type"], string>> = {
  station_closure: "Station closure",
  station_move: "Station move",
  system_closure: "System closure",
  other: "Other",
};

const typeChoices = alertTypes.map((value) => ({ value, label: typeNames[value] }));

interface OpenAlertDialogProps {
  readonly systemId: string;
  readonly onClose: () => void;
  readonly onOpened: () => void;
}

const blank = {
  type: "station_closure" as OperatorAlert["type"],
  summary: "",
  description: "",
  url: "",
  start: "",
  end: "",
  stations: "",
  regions: "",
};

/** The form of a new alert. */
export function OpenAlertDialog({ systemId, onClose, onOpened }: OpenAlertDialogProps) {
  const [wanted, setWanted] = useState(blank);
  const { run, isPending } = useAction();
  const change = (changed: Partial<typeof blank>) => setWanted({ ...wanted, ...changed });
  const open = () =>
    void run(async () => {
      await api.alerts.open({ params: { system_id: systemId }, body: bodyOf(wanted) });
      onOpened();
      onClose();
    });
  return (
    <Dialog title="Open an alert" isOpen onClose={onClose}>
      <Form onSubmit={open}>
        <SelectField
          label="Type"
          value={wanted.type}
          choices={typeChoices}
          onChange={(value) => change({ type: alertTypes.find((type) => type === value) ?? "other" })}
        />
        <TextField
          label="Summary"
          hint="One line for riders, in the system’s main language."
          value={wanted.summary}
          required
          maxLength={255}
          onInput={(summary) => change({ summary })}
        />
        <MoreFields wanted={wanted} change={change} />
        <div class="row form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" pending={isPending}>
            Open
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

interface MoreFieldsProps {
  readonly wanted: typeof blank;
  readonly change: (changed: Partial<typeof blank>) => void;
}

/** What an alert may leave out. */
function MoreFields({ wanted, change }: MoreFieldsProps) {
  return (
    <>
      <TextField label="Description" value={wanted.description} onInput={(description) => change({ description })} />
      <TextField
        label="Web page"
        type="url"
        placeholder="https://"
        value={wanted.url}
        onInput={(url) => change({ url })}
      />
      <InstantField label="Begins" value={wanted.start} onInput={(start) => change({ start })} />
      <InstantField label="Ends" value={wanted.end} onInput={(end) => change({ end })} />
      <TextField
        label="Stations"
        hint="Their ids, with commas between. None, and no regions: the alert is about the whole system."
        monospace
        value={wanted.stations}
        onInput={(stations) => change({ stations })}
      />
      <TextField
        label="Regions"
        hint="Their ids, with commas between."
        monospace
        value={wanted.regions}
        onInput={(regions) => change({ regions })}
      />
    </>
  );
}

function bodyOf({ type, summary, description, url, start, end, stations, regions }: typeof blank) {
  const ids = (text: string) =>
    text
      .split(",")
      .map((id) => id.trim())
      .filter((id) => id !== "");
  const time = { ...(start !== "" && { start }), ...(end !== "" && { end }) };
  return {
    type,
    summary: summary.trim(),
    ...(description.trim() !== "" && { description: description.trim() }),
    ...(url.trim() !== "" && { url: url.trim() }),
    times: start === "" && end === "" ? [] : [time],
    station_ids: ids(stations),
    region_ids: ids(regions),
  };
}
