import type { OperatorAlert } from "@bikeshare/contract";
import type { LocalText } from "@bikeshare/contract/facts";
import { alertTypes } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { useStationMap } from "../../api/station-map.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { type Choice, SelectField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { InstantField } from "../../components/instant-field.tsx";
import { PickField } from "../../components/pick-field.tsx";
import { useFormContext } from "../gbfs/fact-form.tsx";
import { FactInput } from "../gbfs/fact-input.tsx";
import { FormContext } from "../gbfs/form-context.ts";
import { valueOf } from "../gbfs/form-values.ts";
import { type Refusal, refusalOf } from "../refusal.ts";
import { useAction } from "../use-action.ts";

/*
 * The form of a new alert to riders. Its texts are in several languages, as the texts of facts (values that GBFS publishes
 * about a thing) are. So it uses the inputs of facts (fact-input.tsx) with their drafts and errors, although an alert is no
 * fact.
 */

interface OpenAlertDialogProps {
  readonly systemId: string;
  /** The types of alerts in words. */
  readonly types: Readonly<Record<OperatorAlert["type"], string>>;
  readonly onClose: () => void;
  readonly onOpened: () => void;
}

interface Draft {
  readonly type: OperatorAlert["type"];
  /** The drafts of texts in several languages, as `FactInput` holds them. */
  readonly texts: { readonly [Name in TextName]?: unknown };
  /** When the alert begins and ends. Empty: not limited. */
  readonly start: string;
  readonly end: string;
  /** Ids. */
  readonly stations: readonly string[];
  readonly regions: readonly string[];
}

const blank: Draft = { type: "station_closure", texts: {}, start: "", end: "", stations: [], regions: [] };

/** A dialog with the form of a new alert to riders. */
export function OpenAlertDialog({ systemId, types, onClose, onOpened }: OpenAlertDialogProps) {
  const [wanted, setWanted] = useState(blank);
  const [refused, setRefused] = useState<Refusal>();
  const { run, isPending } = useAction();
  const context = useFormContext(systemId, refused ? [refused] : []);
  const change = (changed: Partial<Draft>) => setWanted((before) => ({ ...before, ...changed }));
  const open = () =>
    run(async () => {
      const failure = await refusalOf(async () => {
        await api.alerts.open({ params: { system_id: systemId }, body: bodyOf(wanted) });
      });
      setRefused(failure);
      if (failure !== undefined) return;
      onOpened();
      onClose();
    });
  return (
    <Dialog title="Open an alert" isOpen onClose={onClose}>
      <FormContext.Provider value={context}>
        <Form onSubmit={open}>
          <SelectField
            label="Type"
            value={wanted.type}
            choices={alertTypes.map((value) => ({ value, label: types[value] }))}
            onChange={(value) => change({ type: alertTypes.find((type) => type === value) ?? "other" })}
          />
          <TextFields wanted={wanted} change={change} />
          <InstantField label="Begins" value={wanted.start} onInput={(start) => change({ start })} />
          <InstantField label="Ends" value={wanted.end} min={wanted.start} onInput={(end) => change({ end })} />
          <PlaceFields systemId={systemId} wanted={wanted} change={change} />
          <div class="row form-actions">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" pending={isPending}>
              Open
            </Button>
          </div>
        </Form>
      </FormContext.Provider>
    </Dialog>
  );
}

interface FieldsProps {
  readonly wanted: Draft;
  readonly change: (changed: Partial<Draft>) => void;
}

const text = { kind: "text" } as const;
const textFields = [
  { name: "summary", label: "Summary", hint: "One line for riders." },
  { name: "description", label: "Description", hint: undefined },
  { name: "url", label: "Web page", hint: "The address of a page with more of it." },
] as const;
type TextName = (typeof textFields)[number]["name"];

/** Inputs for the texts that riders read, in one or several languages. */
function TextFields({ wanted: { texts }, change }: FieldsProps) {
  return textFields.map(({ name, label, hint }) => (
    <FactInput
      key={name}
      type={text}
      path={name}
      label={label}
      hint={hint}
      draft={texts[name]}
      published={undefined}
      onChange={(draft) => change({ texts: { ...texts, [name]: draft } })}
    />
  ));
}

/** Inputs for the stations and regions that the alert is about. */
function PlaceFields({ systemId, wanted, change }: FieldsProps & { readonly systemId: string }) {
  const map = useStationMap(systemId);
  return (
    <>
      <PickField
        label="Stations"
        hint="Type a part of a name. None, and no regions: the alert is about the whole system."
        choices={map && choicesOf(map.data)}
        chosen={wanted.stations}
        onChange={(stations) => change({ stations })}
      />
      {map !== undefined && map.regions.length > 0 && (
        <PickField
          label="Regions"
          hint="Every station of a region."
          choices={choicesOf(map.regions)}
          chosen={wanted.regions}
          onChange={(regions) => change({ regions })}
        />
      )}
    </>
  );
}

/** Returns choices by name. If several things have the same name, the choice shows the id too. */
function choicesOf(things: readonly { readonly id: string; readonly name: string }[]): readonly Choice[] {
  const times = Map.groupBy(things, ({ name }) => name);
  return things.map(({ id, name }) => ({ value: id, label: times.get(name)?.length === 1 ? name : `${name} (${id})` }));
}

/** Returns the request that opens the alert. It omits what was not typed. */
function bodyOf({ type, texts, start, end, stations, regions }: Draft) {
  const given = (name: TextName) => valueOf(text, texts[name]) as LocalText[] | undefined;
  const [summary, description, url] = [given("summary"), given("description"), given("url")];
  const time = { ...(start !== "" && { start }), ...(end !== "" && { end }) };
  return {
    type,
    ...(summary && { summary }),
    ...(description && { description }),
    ...(url && { url }),
    times: start === "" && end === "" ? [] : [time],
    station_ids: [...stations],
    region_ids: [...regions],
  };
}
